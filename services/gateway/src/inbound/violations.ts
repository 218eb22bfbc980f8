import { FRAME_LIMITS } from '@event-gateway/protocol';

/**
 * Counts one more violation of a connection.
 * @param recentMs when its violations within the window were, oldest first; changed by this call
 * @returns true when there are too many of them
 */
export function countViolation(recentMs: number[], nowMs: number, maxViolations: number): boolean {
  while ((recentMs[0] ?? nowMs) <= nowMs - FRAME_LIMITS.violationWindowMs) recentMs.shift();
  recentMs.push(nowMs);
  return recentMs.length >= maxViolations;
}
