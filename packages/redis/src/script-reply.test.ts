import { describe, expect, test } from 'vitest';
import { LuaScript } from './lua-script.js';
import { UnexpectedReplyError } from './redis-errors.js';
import { decodeScriptNumber, decodeScriptReply } from './script-reply.js';

const script = new LuaScript('name.lua', 'return {}');

describe("a script's reply", () => {
  test('is read by name, texts, bytes and numbers alike', () => {
    expect(decodeScriptReply(script, ['1-1', Buffer.from('x'), -1], ['id', 'word', 'count'])).toEqual({
      id: '1-1',
      word: 'x',
      count: '-1',
    });
    expect(decodeScriptNumber(script, Buffer.from('-12'))).toBe(-12);
    expect(decodeScriptNumber(script, 7)).toBe(7);
  });

  test.each([[null], ['OK'], [[]], [['a']], [['a', 'b', 'c']], [['a', null]], [['a', ['b']]], [{ 0: 'a', 1: 'b' }]])(
    'of another shape is not believed: %j',
    (reply) => {
      expect(() => decodeScriptReply(script, reply, ['a', 'b'])).toThrow(UnexpectedReplyError);
      expect(() => decodeScriptReply(script, reply, ['a', 'b'])).toThrow('unexpected reply to name.lua');
    },
  );

  test.each([[null], ['OK'], [''], ['1.5'], ['1-1'], [['1']], [Number.NaN]])('that is no whole number is not believed: %j', (reply) => {
    expect(() => decodeScriptNumber(script, reply)).toThrow(UnexpectedReplyError);
  });
});
