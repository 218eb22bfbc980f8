/** The id of the n-th user, e.g. `user-0000042`. */
export function userId(index: number): string {
  return `user-${String(index).padStart(7, '0')}`;
}

/** From here on users exist who are never connected to anything. */
export const firstAbsentUser = 5_000_000;
