import { describe, expect, test } from 'vitest';
import { extractToken } from './extract-token.js';
import { queryParameter } from './query-parameter.js';

const none = { authorization: '', subprotocols: '', query: '' };

describe('extractToken', () => {
  test.each([
    ['the header', { ...none, authorization: 'Bearer h' }, { token: 'h', subprotocol: undefined }],
    ['the header, its scheme in any case', { ...none, authorization: 'bEARER  h ' }, { token: 'h', subprotocol: undefined }],
    ['the subprotocol pair', { ...none, subprotocols: 'bearer, s' }, { token: 's', subprotocol: 'bearer' }],
    ['the subprotocol pair among others', { ...none, subprotocols: 'v2,bearer,s,v1' }, { token: 's', subprotocol: 'bearer' }],
    ['the query', { ...none, query: 'cursor=1-0&token=q' }, { token: 'q', subprotocol: undefined }],
  ])('takes the token of %s', (_what, sources, expected) => expect(extractToken(sources)).toEqual(expected));

  test('header before subprotocol before query', () => {
    const all = { authorization: 'Bearer h', subprotocols: 'bearer, s', query: 'token=q' };
    expect(extractToken(all).token).toBe('h');
    expect(extractToken({ ...all, authorization: '' }).token).toBe('s');
    expect(extractToken({ ...all, authorization: '', subprotocols: '' }).token).toBe('q');
  });

  test('bearer is answered whenever it was offered: a client fails the connection otherwise', () => {
    expect(extractToken({ ...none, authorization: 'Bearer h', subprotocols: 'bearer, s' }).subprotocol).toBe('bearer');
    expect(extractToken({ ...none, subprotocols: 'bearer' })).toEqual({ token: undefined, subprotocol: 'bearer' });
  });

  test('another subprotocol is neither a token nor answered', () => {
    expect(extractToken({ ...none, subprotocols: 'graphql-ws, Bearer' })).toEqual({ token: undefined, subprotocol: undefined });
  });

  test('a header of another scheme is passed over, a malformed bearer is not', () => {
    expect(extractToken({ ...none, authorization: 'Basic eDp5', query: 'token=q' }).token).toBe('q');
    expect(extractToken({ ...none, authorization: 'Bearer a b', query: 'token=q' }).token).toBe('a b');
  });

  test.each([
    none,
    { ...none, query: 'token=' },
    { ...none, query: 'token' },
    { ...none, authorization: 'Bearer ' },
    { ...none, query: 'xtoken=a' },
  ])('there is none in %j', (sources) => expect(extractToken(sources).token).toBeUndefined());

  test('absent sources may be undefined', () => {
    expect(extractToken({ authorization: undefined, subprotocols: undefined, query: undefined }).token).toBeUndefined();
  });
});

describe('queryParameter', () => {
  test('decodes name and value, and keeps a plus', () => {
    expect(queryParameter('a=1&%74oken=%41.b+c%2Ed&token=x', 'token')).toBe('A.b+c.d');
  });

  test('what cannot be decoded comes as it is', () => {
    expect(queryParameter('token=%zz%', 'token')).toBe('%zz%');
  });

  test('a value may contain an equals sign', () => {
    expect(queryParameter('token=a=b=', 'token')).toBe('a=b=');
  });
});
