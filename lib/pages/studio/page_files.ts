/**
 * The files of the page. A clone has none: `runtime/services/pages.ts` builds them, and the build of the package replaces this module.
 *
 * @module
 */

/** A file of the page. */
export interface PageFile {
  /** Name under `/studio/`, with a digest of the contents; the page itself has the name "". */
  readonly name: string;
  readonly mediaType: string;
  readonly text: string;
  readonly digest: string;
}

/** The built files, or null in a clone. */
export const pageFiles: readonly PageFile[] | null = null;
