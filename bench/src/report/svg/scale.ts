import { formatNumber } from '../format.js';
import type { Axis } from '../result.js';

export interface Tick {
  readonly at: number;
  readonly text: string;
}

/** Where values lie on an axis, from 0 to 1, and what is written beside it. */
export interface Scale {
  readonly ticks: readonly Tick[];
  position(value: number): number;
}

/** @param values at least one finite one; a logarithmic axis takes positive ones only */
export function scaleOf(axis: Axis, values: readonly number[]): Scale {
  return axis.scale === 'log' ? logarithmic(axis, values) : linear(axis, values);
}

function linear({ ticks }: Axis, values: readonly number[]): Scale {
  const most = Math.max(...values, 0) || 1;
  const step = roundStep(most / 4);
  const end = Math.ceil(most / step) * step;
  const count = Math.round(end / step);
  return {
    ticks: ticks ?? Array.from({ length: count + 1 }, (_, index) => ({ at: index * step, text: formatNumber(index * step) })),
    position: (value) => value / end,
  };
}

/** 1, 2 or 5 times a power of ten. */
function roundStep(size: number): number {
  const power = 10 ** Math.floor(Math.log10(size));
  return ([1, 2, 5].find((factor) => factor * power >= size) ?? 10) * power;
}

function logarithmic({ ticks }: Axis, values: readonly number[]): Scale {
  const logs = [...values, ...(ticks ?? []).map(({ at }) => at)].filter((value) => value > 0).map(Math.log10);
  const [from, to] =
    ticks === undefined ? [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs))] : [Math.min(...logs), Math.max(...logs)];
  const span = to - from || 1;
  return {
    ticks:
      ticks ??
      Array.from({ length: to - from + 1 }, (_, index) => ({ at: 10 ** (from + index), text: formatNumber(10 ** (from + index)) })),
    position: (value) => (Math.log10(value) - from) / span,
  };
}
