import { readFileSync } from 'node:fs';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { parse } from 'yaml';

// Holds traffic against asyncapi.yaml and openapi.yaml. Every function returns what is wrong, in words; an empty list is a match.
// What the gateway writes must have exactly the documented fields; what others write may have more, as every reader is tolerant.

export type Document = Readonly<Record<string, unknown>>;

const load = (name: string): Document => parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')) as Document;

export const asyncApi: Document = load('asyncapi.yaml');
export const openApi: Document = load('openapi.yaml');

// `strictTypes` would refuse the schemas that only narrow another one; the rest of strict mode finds misspelt keywords.
const ajv = new Ajv2020({ allErrors: true, strict: true, strictTypes: false, strictRequired: false });
(ajvFormats as unknown as (target: Ajv2020) => void)(ajv);

const documents = { asyncapi: asyncApi, openapi: openApi } as const;
export type DocumentName = keyof typeof documents;

// A document is not a schema, but the schemas' references start at its root.
ajv.addVocabulary([...new Set(Object.values(documents).flatMap((document) => Object.keys(document)))]);
for (const [name, document] of Object.entries(documents)) {
  ajv.addSchema(document, name);
  ajv.addSchema(closed(document) as Document, `${name}-closed`);
}

/** A copy in which every object schema that names its members has no others, unless it says itself what else it may have. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]));
  const isOpenRecord = copy['type'] === 'object' && typeof copy['properties'] === 'object' && copy['additionalProperties'] === undefined;
  return isOpenRecord ? { ...copy, additionalProperties: false } : copy;
}

interface Located {
  /** Where the node really stands, references on the way followed. */
  readonly pointer: string;
  readonly node: unknown;
}

/** Follows a JSON pointer through a document; the node is undefined when there is none. */
export function locate(document: DocumentName, pointer: string): Located {
  let found: Located = { pointer: '', node: documents[document] };
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    const node = isRecord(found.node) && Object.hasOwn(found.node, key) ? found.node[key] : undefined;
    const reference = referenceOf(node);
    found = reference === undefined ? { pointer: `${found.pointer}/${part}`, node } : locate(document, reference);
  }
  return found;
}

/** The pointer that a node stands for when it says nothing of its own. */
function referenceOf(node: unknown): string | undefined {
  if (!isRecord(node) || typeof node['$ref'] !== 'string') return undefined;
  const isPure = Object.keys(node).every((key) => key === '$ref' || key === 'description' || key === 'summary');
  return isPure ? node['$ref'].slice(1) : undefined;
}

function isRecord(node: unknown): node is Document {
  return typeof node === 'object' && node !== null;
}

/** The validator of the schema at a JSON pointer. */
export function schemaAt(document: DocumentName, pointer: string, mode: 'open' | 'closed' = 'open'): ValidateFunction {
  const id = mode === 'open' ? document : `${document}-closed`;
  const validate = ajv.getSchema(`${id}#${encodeURI(pointer)}`);
  if (validate === undefined) throw new Error(`${document} has no schema at ${pointer}`);
  return validate;
}

function problems(document: DocumentName, pointer: string, mode: 'open' | 'closed', value: unknown): string[] {
  const validate = schemaAt(document, pointer, mode);
  return validate(value) ? [] : (validate.errors ?? []).map(describe);
}

function describe(error: ErrorObject): string {
  return `${error.instancePath === '' ? '(root)' : error.instancePath} ${error.message ?? error.keyword} ${JSON.stringify(error.params)}`;
}

/** The messages that an operation sends or receives: the name on the wire → the pointer of its schema. */
export function messagesOf(operation: string): ReadonlyMap<string, string> {
  const references = locate('asyncapi', `/operations/${operation}/messages`).node as unknown[];
  return new Map(
    references.map((_, i) => {
      const { pointer, node } = locate('asyncapi', `/operations/${operation}/messages/${i}`);
      return [(node as { name: string }).name, locate('asyncapi', `${pointer}/payload`).pointer] as const;
    }),
  );
}

// Once, not for each of the thousands of frames that a test may hold against them.
const serverFrames = messagesOf('sendServerFrames');
const clientFrames = messagesOf('receiveClientFrames');

/** A parsed frame, gateway → client. */
export function validateServerFrame(frame: unknown): string[] {
  const pointer = serverFrames.get(typeOf(frame)) ?? serverFrames.get('any other type');
  return pointer === undefined ? ['there is no generic frame'] : problems('asyncapi', pointer, 'closed', frame);
}

/** A parsed frame, client → gateway. */
export function validateClientFrame(frame: unknown): string[] {
  const pointer = clientFrames.get(typeOf(frame));
  return pointer === undefined ? [`there is no frame of type ${typeOf(frame)}`] : problems('asyncapi', pointer, 'open', frame);
}

function typeOf(frame: unknown): string {
  return isRecord(frame) ? String(frame['type']) : '';
}

/** The fields of an entry of the event stream, with the JSON inside of them. */
export function validateEntry(fields: Readonly<Record<string, string>>): string[] {
  const envelope = fields['envelope'] ?? fields['event'] ?? fields['data'] ?? fields['payload'] ?? 'null';
  const recipients = fields['recipients'];
  return [
    ...problems('asyncapi', '/components/schemas/Entry', 'open', fields),
    ...problems(
      'asyncapi',
      `/components/schemas/${recipients === undefined ? 'AddressedEnvelope' : 'Envelope'}`,
      'open',
      JSON.parse(envelope),
    ),
    ...(recipients === undefined ? [] : problems('asyncapi', '/components/schemas/Recipients', 'open', JSON.parse(recipients))),
  ];
}

/** The fields of an entry of the dead-letter stream. */
export function validateDeadLetter(fields: Readonly<Record<string, string>>): string[] {
  return problems('asyncapi', '/components/schemas/DeadLetter', 'closed', fields);
}

/** A parsed message of a pub/sub channel. */
export function validateChannelMessage(address: string, message: unknown): string[] {
  const channels = asyncApi['channels'] as Readonly<Record<string, { address: string; messages: object }>>;
  // The stream and its pub/sub form share an address; entries have a function of their own, so the later channel is meant.
  const [name, channel] = Object.entries(channels).findLast(([, candidate]) => candidate.address === address) ?? [];
  if (channel === undefined) return [`there is no channel ${address}`];
  const { pointer } = locate('asyncapi', `/channels/${name}/messages/${Object.keys(channel.messages)[0]}`);
  const mode = address.startsWith('gateway.') ? 'closed' : 'open';
  return problems('asyncapi', locate('asyncapi', `${pointer}/payload`).pointer, mode, message);
}

/** One request and its answer; bodies parsed when they are JSON. `path` may carry a query. Header names in lower case. */
export interface HttpExchange {
  readonly method: string;
  readonly path: string;
  readonly request?: unknown;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: unknown;
}

/** An exchange with the gateway or with one of the owners. */
export function validateHttp(exchange: HttpExchange): string[] {
  const { method, request, status } = exchange;
  const template = templateOf(exchange.path);
  if (template === undefined) return [`${exchange.path} is not documented`];
  const operation = locate('openapi', `/paths/${escaped(template)}/${method.toLowerCase()}`);
  if (!isRecord(operation.node)) return [`${method} ${template} is not documented`];
  const response = locate('openapi', `${operation.pointer}/responses/${status}`);
  if (!isRecord(response.node)) return [`${method} ${template} does not document status ${status}`];
  const { tags, requestBody } = operation.node as { tags: string[]; requestBody?: { required: boolean } };
  const [requestMode, responseMode] = tags.includes('owners') ? (['closed', 'open'] as const) : (['open', 'closed'] as const);
  return [
    ...(request === undefined ? [] : contentProblems(`${operation.pointer}/requestBody`, requestMode, request)),
    ...(request === undefined && requestBody?.required === true && status < 400 ? ['the request has no body'] : []),
    ...contentProblems(response.pointer, responseMode, exchange.body),
    ...(exchange.headers === undefined ? [] : headerProblems(response, exchange.headers)),
  ];
}

function contentProblems(pointer: string, mode: 'open' | 'closed', body: unknown): string[] {
  const { node } = locate('openapi', `${pointer}/content`);
  const mediaType = isRecord(node) ? Object.keys(node)[0] : undefined;
  if (mediaType === undefined) return [];
  return problems('openapi', locate('openapi', `${pointer}/content/${escaped(mediaType)}/schema`).pointer, mode, body);
}

function headerProblems(response: Located, headers: NonNullable<HttpExchange['headers']>): string[] {
  const names = Object.keys(locate('openapi', `${response.pointer}/headers`).node ?? {});
  return names.flatMap((name) => {
    const value = headers[name.toLowerCase()];
    if (value === undefined) return [`header ${name} is missing`];
    const { pointer } = locate('openapi', `${response.pointer}/headers/${name}/schema`);
    return problems('openapi', pointer, 'open', Number(value)).map((problem) => `header ${name} ${problem}`);
  });
}

function templateOf(path: string): string | undefined {
  const [pathname = ''] = path.split('?');
  const segments = pathname.split('/');
  const matches = (template: string): boolean => {
    const parts = template.split('/');
    return (
      parts.length === segments.length && parts.every((part, i) => (/^\{.+\}$/.test(part) ? segments[i] !== '' : part === segments[i]))
    );
  };
  return Object.keys(openApi['paths'] as Document).find(matches);
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
