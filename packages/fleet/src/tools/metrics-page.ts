export type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

/** One scrape of a /metrics page. */
export class MetricsPage {
  readonly #samples: readonly Sample[];

  constructor(text: string) {
    this.#samples = text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map(parseSample);
  }

  static async scrape(url: string): Promise<MetricsPage> {
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) });
    if (!response.ok) throw new Error(`${url} answered ${response.status}`);
    return new MetricsPage(await response.text());
  }

  /** Names as they stand on the page, `_bucket`, `_sum` and `_count` of histograms included. */
  names(): Set<string> {
    return new Set(this.#samples.map(({ name }) => name));
  }

  /** The sum over all samples of that name that carry these labels (or more); `undefined` when there are none. */
  value(name: string, labels: Labels = {}): number | undefined {
    const found = this.#samples.filter((sample) => sample.name === name && carries(sample.labels, labels));
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
  }

  /** Values of one label over all samples of a name. */
  labelValues(name: string, label: string): Set<string> {
    return new Set(this.#samples.filter((sample) => sample.name === name).flatMap(({ labels }) => labels[label] ?? []));
  }
}

function carries(labels: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([label, value]) => labels[label] === value);
}

function parseSample(line: string): Sample {
  const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/.exec(line);
  if (match === null) throw new Error(`not a sample: ${line}`);
  const [, name = '', list = '', value = ''] = match;
  const labels = [...list.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [label, unescape(text)] as const);
  return { name, labels: Object.fromEntries(labels), value: parseValue(value) };
}

function unescape(text: string): string {
  return text.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}

function parseValue(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}
