import type { RunResult, ScenarioResult, Table } from './result.js';
import { type TargetRow, targetRows } from './targets.js';

/** The whole report. Plots are linked by their names beside it. */
export function markdownReport({ machine, scenarios }: RunResult): string {
  return [
    '# What the gateway costs, next to what a team would pick instead',
    'Written by `npm run bench`. Levels belong to this machine and this hour; ratios are what can be compared. A figure is a median, with ' +
      'the smallest and the largest repetition in parentheses. How each of it is measured, and how the peers are set up, is in ' +
      '[bench/README.md](../README.md).',
    '## Targets',
    table({ columns: ['figure', 'target', 'measured', ''], rows: targetRows(scenarios).map(targetCells) }),
    '## The machine',
    table({
      columns: ['what', 'value'],
      rows: [
        ['cores', String(machine.cores)],
        ['CPU', machine.cpu],
        ['memory', `${machine.memoryGb} GB`],
        ['kernel', machine.kernel],
        ...Object.entries(machine.versions),
        ['load average before the run', machine.loadBefore.toFixed(1)],
      ],
    }),
    ...scenarios.flatMap(section),
  ].join('\n\n');
}

function targetCells({ figure, target, measured, verdict }: TargetRow): string[] {
  return [figure, target, measured, verdict === 'met' ? 'met' : `**${verdict}**`];
}

function section({ name, about, measuredAt, tookS, tables, plots, notes }: ScenarioResult): string[] {
  return [
    `## ${name}`,
    about,
    ...tables.flatMap((one) => [`**${one.title}**`, table(one)]),
    ...plots.map((plot) => `![${plot.title}](${plot.name}.svg)`),
    ...notes,
    `_${measuredAt}, ${tookS} s._`,
  ];
}

function table({ columns, rows }: Pick<Table, 'columns' | 'rows'>): string {
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.map(escape).join(' | ')} |`).join('\n');
}

function escape(cell: string): string {
  return cell.replace(/\|/g, '\\|');
}
