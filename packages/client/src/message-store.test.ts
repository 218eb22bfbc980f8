import { expect, test } from 'vitest';
import { Emitter } from './emitter.js';
import { MessageStore } from './message-store.js';

function started(maxPerConversation?: number): {
  store: MessageStore;
  emit: (type: string, message: object) => void;
  texts: () => string[];
} {
  const emitter = new Emitter();
  const store = new MessageStore({ on: (type, listener) => emitter.on(type, listener) }, maxPerConversation);
  const texts = () =>
    store.of('c1').map(({ message, isEdited, isDeleted }) => `${message.text}${isEdited ? ' edited' : ''}${isDeleted ? ' deleted' : ''}`);
  return { store, emit: (type, message) => emitter.emit(type, { type, conversation_id: 'c1', message }), texts };
}
const message = (seq: number) => ({ id: `m${seq}`, seq, text: `text ${seq}` });

test('messages stand in seq order, also those that came late', () => {
  const { emit, texts } = started();
  for (const seq of [1, 3, 4, 2]) emit('message', message(seq));
  expect(texts()).toEqual(['text 1', 'text 2', 'text 3', 'text 4']);
});

test('a message without a seq stands where it came', () => {
  const { emit, texts } = started();
  emit('message', message(1));
  emit('message', { id: 'x', text: 'no seq' });
  expect(texts()).toEqual(['text 1', 'no seq']);
});

test('an edit changes the text and nothing else, however often it comes', () => {
  const { emit, texts, store } = started();
  emit('message', message(1));
  for (let i = 0; i < 2; i++) emit('message.edited', { id: 'm1', text: 'new' });
  expect(texts()).toEqual(['new edited']);
  expect(store.of('c1')[0]?.message.seq).toBe(1);
});

test('a deletion is final', () => {
  const { emit, texts } = started();
  emit('message', message(1));
  emit('message.deleted', { id: 'm1' });
  emit('message.edited', { id: 'm1', text: 'new' });
  expect(texts()).toEqual(['text 1 deleted']);
});

test('only the latest of a conversation are kept', () => {
  const { emit, texts } = started(2);
  for (const seq of [1, 2, 3]) emit('message', message(seq));
  expect(texts()).toEqual(['text 2', 'text 3']);
});

test('the same array until something changes', () => {
  const { emit, store } = started();
  emit('message', message(1));
  const before = store.of('c1');
  expect(store.of('c1')).toBe(before);
  emit('message', message(2));
  expect(store.of('c1')).not.toBe(before);
});

test('of a conversation that nobody has heard of it is always the same empty array, which nobody can fill', () => {
  const { emit, store } = started();
  const none = store.of('nobody');
  emit('message.edited', { id: 'm1', text: 'new' });
  expect([store.of('nobody'), store.of('c1')].every((messages) => messages === none)).toBe(true);
  expect(none).toEqual([]);
  expect(() => Array.prototype.push.call(none, 'x')).toThrow(TypeError);
});

test('what changes nothing leaves the array alone', () => {
  const { emit, store } = started(2);
  for (const seq of [2, 3]) emit('message', message(seq));
  emit('message.deleted', { id: 'm3' });
  const before = store.of('c1');
  emit('message.edited', { id: 'm1', text: 'of a message that is not kept' });
  emit('message.edited', { id: 'm3', text: 'of a deleted one' });
  for (let i = 0; i < 2; i++) emit('message.deleted', { id: 'm3' });
  emit('message', message(1));
  expect(store.of('c1')).toBe(before);
  emit('message.edited', { id: 'm2', text: 'new' });
  expect(store.of('c1')).not.toBe(before);
});
