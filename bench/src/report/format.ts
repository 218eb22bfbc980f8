import type { Summary } from '../measure/statistics.js';

/** Three significant digits, thousands apart: `0.278`, `12.5`, `361,000`. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  return Number(value.toPrecision(3)).toLocaleString('en-US', { maximumFractionDigits: 6 });
}

/** The median with its spread: `2.51 (2.43–2.6)`. */
export function formatSummary({ median, min, max, samples }: Summary): string {
  return samples.length === 1 ? formatNumber(median) : `${formatNumber(median)} (${formatNumber(min)}–${formatNumber(max)})`;
}

/** Columns padded to the same width. */
export function formatTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [columns, ...rows];
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
