import { describe, expect, test } from 'vitest';
import {
  ConfigError,
  flag,
  int,
  list,
  oneOf,
  optionalInt,
  optionalString,
  parseEnvironment,
  printEnvironment,
  type Spec,
  string,
  token,
  url,
} from './environment.js';

function problemsOf(environment: Record<string, string>, spec: Spec): readonly string[] {
  try {
    parseEnvironment(environment, spec);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

const lengthMs = int({ default: 100, min: 10, max: 1000, about: 'a length' });

describe('an environment', () => {
  test('is told all of its problems at once, each with the name of its variable', () => {
    const spec = { LENGTH_MS: lengthMs, OWNER_URL: url({ schemes: ['http', 'https'], about: 'an owner' }), IS_ODD: flag({ about: 'odd' }) };
    expect(() => parseEnvironment({ LENGTH_MS: '5', IS_ODD: 'yes' }, spec)).toThrow(
      'The environment has 3 problems:\n' +
        '  - LENGTH_MS must be a whole number from 10 to 1000, not "5"\n' +
        '  - OWNER_URL is required\n' +
        '  - IS_ODD must be 1 or unset, not "yes"',
    );
  });

  test('gives frozen values, of the types that the variables have', () => {
    const values = parseEnvironment({ LENGTH_MS: '250' }, { LENGTH_MS: lengthMs });
    expect(values).toEqual({ LENGTH_MS: 250 });
    expect(Object.isFrozen(values)).toBe(true);
  });

  test('reads nothing that it was not asked for', () => {
    expect(parseEnvironment({ LENGTH_MS: '250', PATH: '/bin' }, { LENGTH_MS: lengthMs })).not.toHaveProperty('PATH');
  });

  test('is told what is wrong between variables too, of those that are sound', () => {
    const spec = { LOW: lengthMs, HIGH: lengthMs, NAME: optionalString({ about: 'a name', pattern: /^a/, form: 'an a' }) };
    const problemsWith = (environment: Record<string, string>): readonly string[] => {
      try {
        parseEnvironment(environment, spec, ({ LOW, HIGH }) =>
          LOW !== undefined && HIGH !== undefined && LOW > HIGH ? ['LOW above HIGH'] : [],
        );
      } catch (error) {
        if (error instanceof ConfigError) return error.problems;
        throw error;
      }
      return [];
    };
    expect(problemsWith({ LOW: '200', HIGH: '100', NAME: 'b' })).toEqual(['NAME must be an a', 'LOW above HIGH']);
    expect(problemsWith({ LOW: '200', HIGH: '9' })).toEqual(['HIGH must be a whole number from 10 to 1000, not "9"']);
    expect(problemsWith({ LOW: '100', HIGH: '100' })).toEqual([]);
  });

  test('an empty variable is an unset one', () => {
    const spec = { LENGTH_MS: lengthMs, NAME: optionalString({ about: 'a name' }) };
    expect(parseEnvironment({ LENGTH_MS: '', NAME: '' }, spec)).toEqual({ LENGTH_MS: 100, NAME: undefined });
  });
});

describe('a whole number', () => {
  test.each(['10', '1000'])('may be as small and as large as its bounds: %s', (text) => {
    expect(problemsOf({ LENGTH_MS: text }, { LENGTH_MS: lengthMs })).toEqual([]);
  });

  test.each(['9', '1001', '-20', '1e2', '0x20', '20.5', '20 ', 'NaN', '9007199254740993'])('is refused: "%s"', (text) => {
    expect(problemsOf({ LENGTH_MS: text }, { LENGTH_MS: lengthMs })).toHaveLength(1);
  });

  test('without an upper bound is told only the lower one', () => {
    expect(problemsOf({ AT_LEAST: '0' }, { AT_LEAST: int({ default: 5, min: 1, about: 'some' }) })).toEqual([
      'AT_LEAST must be a whole number of at least 1, not "0"',
    ]);
  });

  test('that may be left out has the same bounds when it is not', () => {
    const spec = { CAP: optionalInt({ fallback: 'from the system', min: 1, about: 'a cap' }) };
    expect(parseEnvironment({}, spec)).toEqual({ CAP: undefined });
    expect(parseEnvironment({ CAP: '7' }, spec)).toEqual({ CAP: 7 });
    expect(problemsOf({ CAP: '0' }, spec)).toHaveLength(1);
  });
});

describe('text', () => {
  test('of a given form is refused in the words of that form', () => {
    const spec = { NAME: string({ default: 'a', pattern: /^[a-z]+$/, form: 'lower-case letters', about: 'a name' }) };
    expect(problemsOf({ NAME: 'B' }, spec)).toEqual(['NAME must be lower-case letters']);
    expect(parseEnvironment({ NAME: 'b' }, spec)).toEqual({ NAME: 'b' });
  });

  test('whose default has not the form is a problem as well: it may come from the machine', () => {
    expect(problemsOf({}, { NAME: string({ default: 'häuschen', pattern: /^[a-z]+$/, about: 'a name' }) })).toHaveLength(1);
  });

  test('of a closed set lists the set', () => {
    const spec = { MODE: oneOf({ default: 'slow', choices: ['slow', 'fast'], about: 'a mode' }) };
    expect(parseEnvironment({}, spec)).toEqual({ MODE: 'slow' });
    expect(problemsOf({ MODE: 'Fast' }, spec)).toEqual(['MODE must be one of slow, fast, not "Fast"']);
  });

  test('with commas is a list without the spaces around its names, and has no empty ones', () => {
    const spec = { NAMES: list({ about: 'names' }) };
    expect(parseEnvironment({ NAMES: 'a, b ,c' }, spec)).toEqual({ NAMES: ['a', 'b', 'c'] });
    expect(parseEnvironment({}, spec)).toEqual({ NAMES: undefined });
    expect(problemsOf({ NAMES: 'a,,b' }, spec)).toEqual(['NAMES must be names separated by commas']);
  });

  test('with commas may have a form of its own, and is refused without its text', () => {
    const spec = { PORTS: list({ about: 'ports', form: 'numbers', accepts: (item) => /^\d+$/.test(item) }) };
    expect(parseEnvironment({ PORTS: '1, 2' }, spec)).toEqual({ PORTS: ['1', '2'] });
    expect(problemsOf({ PORTS: '1,x' }, spec)).toEqual(['PORTS must be numbers separated by commas']);
  });

  test.each([
    ['1', true],
    ['true', true],
    ['0', false],
    ['false', false],
  ])('%s is a flag that is %s', (text, value) => {
    expect(parseEnvironment({ IS_ODD: text }, { IS_ODD: flag({ about: 'odd' }) })).toEqual({ IS_ODD: value });
  });
});

describe('a token', () => {
  const spec = { API_TOKEN: token({ about: 'a token' }) };

  // Mounted from a file it ended with a line break: every request that brought the right one was refused.
  test.each(['hunter2', 'hunter2\n', ' hunter2\r\n'])('is what stands in it without what surrounds it: %j', (text) => {
    expect(parseEnvironment({ API_TOKEN: text }, spec)).toEqual({ API_TOKEN: 'hunter2' });
  });

  test('may be left out', () => {
    expect(parseEnvironment({}, spec)).toEqual({ API_TOKEN: undefined });
    expect(parseEnvironment({ API_TOKEN: '' }, spec)).toEqual({ API_TOKEN: undefined });
  });

  // One that is nothing but a line break was meant to protect something.
  test.each(['\n', ' ', 'hun ter2', 'hun\nter2', 'hünter2', 'hunter2\0'])(
    'that no header can hold is refused, without its text: %j',
    (text) => {
      expect(problemsOf({ API_TOKEN: text }, spec)).toEqual(['API_TOKEN must be visible ASCII characters without a space']);
    },
  );
});

describe('a URL', () => {
  test('may be told what its path must be', () => {
    const OWNER_URL = url({ schemes: ['http'], path: { pattern: /^\/v\d$/, form: 'with a version' }, about: 'an owner' });
    expect(problemsOf({ OWNER_URL: 'http://x/v1' }, { OWNER_URL })).toEqual([]);
    expect(problemsOf({ OWNER_URL: 'http://x/' }, { OWNER_URL })).toEqual(['OWNER_URL must be a URL with a version']);
  });

  test.each(['ftp://host', 'host:80', '//host', 'http:/'])('is refused, without its text: it may carry a password: %s', (text) => {
    const problems = problemsOf({ OWNER_URL: text }, { OWNER_URL: url({ schemes: ['http', 'https'], about: 'an owner' }) });
    expect(problems).toEqual(['OWNER_URL must be a URL that begins with http:// or https://']);
  });
});

describe('the printed table', () => {
  const shown = (environment: Record<string, string>, spec: Spec): string => printEnvironment(environment, spec);

  test('has a line for each variable: its effective value, its default, its meaning', () => {
    const spec = {
      LENGTH_MS: lengthMs,
      OWNER_URL: url({ schemes: ['http'], about: 'an owner' }),
      CAP: optionalInt({ fallback: 'none', min: 1, about: 'a cap' }),
    };
    expect(shown({ LENGTH_MS: '250' }, spec).split('\n')).toEqual([
      'LENGTH_MS  250       (default 100)   a length',
      'OWNER_URL  required  (required)      an owner',
      'CAP        none      (default none)  a cap',
    ]);
  });

  test('never has a secret, but says that there is one', () => {
    const text = shown({ API_TOKEN: 'hunter2' }, { API_TOKEN: token({ about: 'a token' }) });
    expect(text).not.toContain('hunter2');
    expect(text).toContain('***');
  });

  test.each([
    'redis://user:hunter2@host:6379/0',
    'redis://:hunter2@host',
    'redis://user:hun@hunter2@host',
    'redis://user:hun:hunter2@host',
  ])('never has the password of a URL: %s', (text) => {
    const line = shown({ REDIS_URL: text }, { REDIS_URL: url({ schemes: ['redis'], about: 'Redis' }) });
    expect(line).not.toContain('hunter2');
    expect(line).toContain('***@host');
  });

  test.each(['user:hunter2@host', ':hunter2@host:1,other:2', 'a:1, user:hun@hunter2@host', ':hun//hunter2@host'])(
    'never has the password before an address: %s',
    (text) => {
      const line = shown({ HOSTS: text }, { HOSTS: list({ about: 'hosts' }) });
      expect(line).not.toContain('hunter2');
      expect(line).toContain('***@host');
    },
  );

  test('leaves addresses without a password as they are', () => {
    expect(shown({ HOSTS: 'a:1,[::1]:2, b:3' }, { HOSTS: list({ about: 'hosts' }) })).toContain('a:1,[::1]:2, b:3');
  });

  test('leaves a URL without a password as it is', () => {
    const text = 'redis://host:6379/0?name=a@b';
    expect(shown({ REDIS_URL: text }, { REDIS_URL: url({ schemes: ['redis'], about: 'Redis' }) })).toContain(text);
  });
});
