export interface LayerViolation {
  readonly rule: string;
  readonly from: string;
  readonly to: string;
}

/** Checks the tree under `root` against the layers; `checked` is smaller than `files` when the checker did not see everything. */
export function checkLayers(root: string): Promise<{ violations: LayerViolation[]; checked: number; files: number }>;
