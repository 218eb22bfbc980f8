import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hostEnvironment } from '../config.js';

export interface Certificate {
  readonly certPath: string;
  readonly keyPath: string;
  /** PEM text, for clients that want to verify instead of looking away. */
  readonly pem: string;
}

/** A self-signed certificate for localhost and 127.0.0.1, good for a week; its own CA. */
export async function createCertificate(dir: string): Promise<Certificate> {
  const certPath = join(dir, 'cert.pem');
  const keyPath = join(dir, 'key.pem');
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '7'];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  await promisify(execFile)('openssl', [...request, ...subject, '-keyout', keyPath, '-out', certPath], {
    env: { PATH: hostEnvironment().path, HOME: dir },
  });
  return { certPath, keyPath, pem: readFileSync(certPath, 'utf8') };
}
