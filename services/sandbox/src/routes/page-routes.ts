import { type Route, route } from '../http/router.js';
import { StaticFiles } from '../http/static-files.js';
import { Refusal } from '../refusal.js';

export interface PageFolders {
  readonly page: URL;
  /** The built client package. */
  readonly client: URL;
}

/** The demo page and the client package that it runs on. */
export function pageRoutes({ page, client }: PageFolders): Route[] {
  const pageFiles = new StaticFiles(page);
  const clientFiles = new StaticFiles(client);
  return [
    route('GET', '/', () => pageFiles.read('index.html')),
    route('GET', '/client.js', async () => {
      const bundle = await clientFiles.read('event-gateway-client.js');
      // Without the bundle a redirect, so that whatever the module imports is found beside it.
      return bundle instanceof Refusal ? { status: 302, headers: { location: '/client/index.js' } } : bundle;
    }),
    route('GET', '/client/*', (_request, { '*': path }) => clientFiles.read(path)),
    route('GET', '/page/*', (_request, { '*': path }) => pageFiles.read(path)),
  ];
}
