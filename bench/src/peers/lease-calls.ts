export type LeaseCalls = {
  /** Resolves with the milliseconds that it took. `concurrency`: renewals under way at once. */
  readonly renewAll: {
    readonly request: { readonly redisUrl: string; readonly users: number; readonly concurrency: number };
    readonly reply: number;
  };
};
