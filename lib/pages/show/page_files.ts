/** The files of the page. A clone has none: `runtime/services/pages.ts` builds them, and the build of the package replaces this module. */

import type { PageFile } from "../shared/mod.ts";

/** The built files, or null in a clone. */
export const pageFiles: readonly PageFile[] | null = null;
