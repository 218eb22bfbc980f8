/** Why an owner has not answered; a closed set. The last three are no fault of the owner. */
export type OwnerFault = 'timeout' | 'unreachable' | 'status' | 'malformed' | 'oversized' | 'breaker_open' | 'overloaded' | 'aborted';

export const OWNER_FAULTS: readonly OwnerFault[] = [
  'timeout',
  'unreachable',
  'status',
  'malformed',
  'oversized',
  'breaker_open',
  'overloaded',
  'aborted',
];

/** `none`: the owner has answered that there is nothing to have. `late`: the answer may still come, after nobody waits any more. */
export type OwnerAnswer<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'none' }
  | { readonly kind: 'fault'; readonly reason: OwnerFault; readonly late?: Promise<OwnerAnswer<T>> };
