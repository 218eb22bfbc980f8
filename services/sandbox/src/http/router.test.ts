import { expect, test } from 'vitest';
import { type Match, Router, route } from './router.js';

const answer = (): { body: null } => ({ body: null });
const router = new Router([
  route('GET', '/users/me', answer),
  route('GET', '/users/:userId', answer),
  route('PUT', '/users/:userId', answer),
  route('GET', '/users/:userId/notes/:noteId', answer),
  route('GET', '/files/*', answer),
]);

function matched(match: Match): unknown {
  return typeof match === 'object' && 'route' in match ? [match.route.path, match.parameters] : match;
}

test.each([
  ['/users/me', ['/users/me', {}]],
  ['/users/alice', ['/users/:userId', { userId: 'alice' }]],
  ['/users/a%2Fb%20%C3%BC', ['/users/:userId', { userId: 'a/b ü' }]],
  ['/users/u1/notes/n1', ['/users/:userId/notes/:noteId', { userId: 'u1', noteId: 'n1' }]],
  ['/files/a/b.js', ['/files/*', { '*': 'a/b.js' }]],
  ['/files/%2e%2e/b.js', ['/files/*', { '*': '%2e%2e/b.js' }]],
])('GET %s', (path, expected) => {
  expect(matched(router.match('GET', path))).toEqual(expected);
});

test.each(['/', '/users', '/users/', '/users/a/notes', '/users/a/notes/', '/files', '//users/a'])('GET %s is nothing', (path) => {
  expect(router.match('GET', path)).toBe('not_found');
});

test('a known path with another method names those that it has', () => {
  expect(router.match('DELETE', '/users/alice')).toEqual({ allowed: ['GET', 'PUT'] });
});

test.each(['/users/%ff', '/users/a%00', `/users/${'x'.repeat(129)}`, '/users/a%0Ab'])('%s names no id', (path) => {
  expect(router.match('GET', path)).toBe('bad_path');
});
