import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

const root = new URL('..', import.meta.url).pathname;
const tests = ['**/*.test.ts', '**/test/**/*.ts'];
// `unknown` becomes a type in these places only, and only there an assertion may be the last step of it.
const decoders = [
  'packages/protocol/src/**/*.ts',
  '**/decode-*.ts',
  'packages/runtime/src/environment.ts', // environment → configuration
  'services/sandbox/src/store/database.ts', // SQL → rows
];

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
  { selector: 'CatchClause > BlockStatement[body.length=0]', message: 'An empty catch hides what nobody will ever look for.' },
];

export default defineConfig(
  { ignores: ['**/dist/**', '**/node_modules/**', '**/coverage/**', 'bench/k6/**'] },
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
    languageOptions: { parserOptions: { project: '.config/tsconfig.test.json', tsconfigRootDir: root } },
    rules: {
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'no-console': 'error',
      'no-restricted-properties': envRule,
      '@typescript-eslint/consistent-type-assertions': ['error', { assertionStyle: 'never' }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // `() => this.#timer.cancel()` reads better than a block around it.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true, ignoreVoidOperator: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true, allowNullish: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      // Believes that nothing changes over an await: `signal.aborted` after one would be "always false".
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // Ports are implemented by classes whose methods need not await or touch `this`.
      '@typescript-eslint/require-await': 'off',
    },
  },
  { files: decoders, rules: { '@typescript-eslint/consistent-type-assertions': 'off' } },
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
  {
    files: tests,
    rules: {
      'max-lines-per-function': 'off',
      'no-restricted-properties': ['error', ...envRule.slice(2)],
      '@typescript-eslint/consistent-type-assertions': 'off',
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
