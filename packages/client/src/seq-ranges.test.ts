import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SeqRanges } from './seq-ranges.js';

test('knows exactly what was added, in any order', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(30)), (seqs) => {
      const ranges = new SeqRanges();
      for (const seq of seqs) ranges.add(seq);
      for (let seq = 0; seq <= 31; seq++) expect(ranges.has(seq)).toBe(seqs.includes(seq));
      expect(ranges.isEmpty).toBe(seqs.length === 0);
      expect(ranges.lowest).toBe(seqs.length === 0 ? undefined : Math.min(...seqs));
      expect(ranges.highest).toBe(seqs.length === 0 ? undefined : Math.max(...seqs));
    }),
  );
});

test('absorbing goes on to the end of the run that continues it, and forgets that run', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(30)), fc.nat(30), (seqs, upTo) => {
      const ranges = new SeqRanges();
      for (const seq of seqs) ranges.add(seq);
      let expected = upTo;
      while (seqs.includes(expected + 1)) expected += 1;
      expect(ranges.absorb(upTo)).toBe(expected);
      for (let seq = 0; seq <= 31; seq++) expect(ranges.has(seq)).toBe(seq > expected && seqs.includes(seq));
    }),
  );
});
