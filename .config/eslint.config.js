import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

const root = new URL('..', import.meta.url).pathname;
const tests = ['**/*.test.ts', '**/test/**/*.ts'];
// Decoders, where `unknown` becomes a type: the only places where an assertion may go from anything to anything.
const decoders = ['packages/protocol/src/**/*.ts', 'packages/client/src/frames.ts', '**/decode-*.ts'];

const envRule = [
  'error',
  { object: 'process', property: 'env', message: 'The environment is read once, in config.ts.' },
  ...['test', 'it', 'describe'].flatMap((object) =>
    ['only', 'skip', 'todo'].map((property) => ({ object, property, message: 'Every test runs.' })),
  ),
];

const syntaxRules = [
  {
    selector: "ImportDeclaration[source.value='uWebSockets.js'][importKind='value'] > ImportSpecifier[importKind='value']",
    message: 'A named value import of uWebSockets.js compiles and crashes at run time: `import uWS from` and `import type`.',
  },
  { selector: 'TSAsExpression > TSAsExpression', message: 'Through `unknown` to another type: decode it, or say what it is.' },
  { selector: 'CatchClause > BlockStatement[body.length=0]', message: 'An empty catch hides what nobody will ever look for.' },
];

export default defineConfig(
  { ignores: ['**/dist/**', '**/node_modules/**', '**/coverage/**'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.{ts,js,mjs,cjs}'],
    plugins: { '@typescript-eslint': tseslint.plugin },
    languageOptions: { parser: tseslint.parser },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'max-lines': ['error', { max: 500 }],
      'no-constant-condition': ['error', { checkLoops: 'allExceptWhileTrue' }],
      'no-debugger': 'error',
      'no-duplicate-imports': ['error', { allowSeparateTypeImports: true }],
      'no-fallthrough': 'error',
      'no-promise-executor-return': 'off',
      'no-restricted-syntax': ['error', ...syntaxRules],
      'no-self-compare': 'error',
      'no-unreachable': 'error',
      'no-unsafe-finally': 'error',
      'no-var': 'error',
      'prefer-const': 'error',
    },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['.config/tsconfig.test.json', '.config/tsconfig.test-browser.json', 'bench/k6/tsconfig.json'],
        tsconfigRootDir: root,
      },
    },
    rules: {
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'no-console': 'error',
      'no-restricted-properties': envRule,
      '@typescript-eslint/consistent-type-assertions': ['error', { assertionStyle: 'as', objectLiteralTypeAssertions: 'never' }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // `() => this.#timer.cancel()`, `return this.#close(reason)`: no block around it reads better.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-unnecessary-boolean-literal-compare': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true, allowNullish: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      // Believes that nothing changes over an await: `signal.aborted` after one would be "always false".
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // Ports are implemented by classes whose methods need not await or touch `this`.
      '@typescript-eslint/require-await': 'off',
    },
  },
  { files: decoders, rules: { 'no-restricted-syntax': ['error', ...syntaxRules.filter(({ selector }) => !selector.startsWith('TSAs'))] } },
  {
    // The environment's one door in each package, and what people start by hand.
    files: ['**/config.ts', '**/bin/**', '.config/**', 'bench/src/run.ts'],
    rules: {
      'no-restricted-properties': ['error', ...envRule.slice(2)],
    },
  },
  {
    files: ['packages/fleet/src/demo.ts', 'packages/fleet/src/chaos/**', 'bench/src/**', 'services/*/src/main.ts'],
    rules: { 'no-console': 'off' },
  },
  // k6's types call the plain objects of its options classes.
  { files: ['bench/k6/**'], rules: { '@typescript-eslint/no-unsafe-class-instance-assignment': 'off' } },
  {
    files: tests,
    rules: {
      'max-lines': ['error', { max: 800 }],
      'max-lines-per-function': 'off',
      'no-restricted-properties': ['error', ...envRule.slice(2)],
      'no-restricted-syntax': ['error', ...syntaxRules.filter(({ selector }) => !selector.startsWith('TSAs'))],
      '@typescript-eslint/consistent-type-assertions': 'off',
      '@typescript-eslint/no-base-to-string': 'off',
      '@typescript-eslint/restrict-plus-operands': 'off',
      '@typescript-eslint/restrict-template-expressions': 'off',
      '@typescript-eslint/no-unnecessary-type-assertion': 'off',
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // Tests look into answers of unknown shape, and a wrong look fails the test.
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
);
