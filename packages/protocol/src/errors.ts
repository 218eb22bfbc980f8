/** Why an upgrade is refused, by HTTP status. */
export type UpgradeRefusal =
  | 'token_missing'
  | 'token_invalid'
  | 'token_expired'
  | 'origin_forbidden'
  | 'draining'
  | 'not_ready'
  | 'replica_full'
  | 'rate_limited';

/** The status of every refusal. 503s carry `Retry-After`; among them the earlier one here wins. */
export const UPGRADE_REFUSAL_STATUS: Readonly<Record<UpgradeRefusal, 401 | 403 | 503>> = {
  token_missing: 401,
  token_invalid: 401,
  token_expired: 401,
  origin_forbidden: 403,
  draining: 503,
  not_ready: 503,
  replica_full: 503,
  rate_limited: 503,
};

/** What else the two HTTP ports answer when they cannot serve a request. */
export type HttpRefusal =
  | 'bad_request'
  | 'unauthorized'
  | 'not_found'
  | 'method_not_allowed'
  | 'payload_too_large'
  | 'upgrade_required'
  | 'redis_unavailable';

export const HTTP_REFUSAL_STATUS: Readonly<Record<HttpRefusal, number>> = {
  bad_request: 400,
  unauthorized: 401,
  not_found: 404,
  method_not_allowed: 405,
  payload_too_large: 413,
  upgrade_required: 426,
  redis_unavailable: 503,
};

/** The body of every HTTP error of the gateway. */
export interface HttpErrorBody {
  readonly error: { readonly code: UpgradeRefusal | HttpRefusal; readonly message: string };
}

/** The codes of `error` frames; a closed set. */
export type FrameErrorCode =
  | 'bad_json'
  | 'bad_frame'
  | 'unknown_type'
  | 'too_deep'
  | 'too_big'
  | 'binary'
  | 'rate_limited'
  | 'sync_unavailable'
  | 'sync_in_progress';

export const FRAME_ERROR_CODES: readonly FrameErrorCode[] = [
  'bad_json',
  'bad_frame',
  'unknown_type',
  'too_deep',
  'too_big',
  'binary',
  'rate_limited',
  'sync_unavailable',
  'sync_in_progress',
];
