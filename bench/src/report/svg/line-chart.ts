import type { Plot, Series } from '../result.js';
import { type Scale, scaleOf } from './scale.js';

const width = 760;
const height = 420;
const frame = { left: 76, right: 170, top: 44, bottom: 58 };
const plotWidth = width - frame.left - frame.right;
const plotHeight = height - frame.top - frame.bottom;
// Told apart by colour-blind readers too (Okabe and Ito).
const colours = ['#0072b2', '#d55e00', '#e69f00', '#009e73', '#cc79a7', '#56b4e9'];

interface Scales {
  readonly x: Scale;
  readonly y: Scale;
}

/** A line chart as an SVG document. */
export function lineChart({ title, x, y, series }: Plot): string {
  const drawn = series.map(({ name, points }) => ({ name, points: points.filter((point) => point.every(Number.isFinite)) }));
  const points = drawn.flatMap((one) => one.points);
  const scales = {
    x: scaleOf(x, points.length === 0 ? [1] : points.map(([at]) => at)),
    y: scaleOf(
      y,
      points.map(([, value]) => value),
    ),
  };
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${escape(title)}</title><rect width="${width}" height="${height}" fill="#fff"/>`,
    text(frame.left, 24, title, 'font-size="15" font-weight="bold"'),
    ...grid(scales),
    text(frame.left + plotWidth / 2, height - 14, x.label, 'text-anchor="middle"'),
    text(0, 0, y.label, `text-anchor="middle" transform="translate(18 ${frame.top + plotHeight / 2}) rotate(-90)"`),
    ...drawn.flatMap((one, index) => line(one, index, scales)),
    '</svg>\n',
  ].join('\n');
}

function grid({ x, y }: Scales): string[] {
  const vertical = x.ticks.flatMap(({ at, text: label }) => {
    const left = toX(x, at);
    return [rule(left, frame.top, left, frame.top + plotHeight), text(left, frame.top + plotHeight + 18, label, 'text-anchor="middle"')];
  });
  const horizontal = y.ticks.flatMap(({ at, text: label }) => {
    const top = toY(y, at);
    return [rule(frame.left, top, frame.left + plotWidth, top), text(frame.left - 8, top + 4, label, 'text-anchor="end"')];
  });
  return [...vertical, ...horizontal];
}

function line({ name, points }: Series, index: number, { x, y }: Scales): string[] {
  const colour = colours[index % colours.length] ?? '#000';
  const places = points.map(([at, value]) => `${toX(x, at).toFixed(1)},${toY(y, value).toFixed(1)}`);
  const dots = points.length > 60 ? [] : places.map((place) => `<circle cx="${place.replace(',', '" cy="')}" r="2.5" fill="${colour}"/>`);
  const legendY = frame.top + 14 + index * 20;
  return [
    `<polyline points="${places.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    ...dots,
    `<rect x="${width - frame.right + 16}" y="${legendY - 9}" width="12" height="10" fill="${colour}"/>`,
    text(width - frame.right + 34, legendY, name),
  ];
}

const toX = (scale: Scale, value: number): number => frame.left + scale.position(value) * plotWidth;
const toY = (scale: Scale, value: number): number => frame.top + (1 - scale.position(value)) * plotHeight;

function rule(x1: number, y1: number, x2: number, y2: number): string {
  return `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" stroke="#ddd"/>`;
}

function text(x: number, y: number, content: string, attributes = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${escape(content)}</text>`;
}

function escape(content: string): string {
  return content.replace(/&/g, '&amp;').replace(/</g, '&lt;');
}
