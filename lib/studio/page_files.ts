/**
 * The files of the page. In a clone there are none: `runtime/services/studio.ts` builds them from `page/`, and the build of the
 * package puts them in the place of this module.
 *
 * @module
 */

/** A file of the page. */
export interface PageFile {
  /** Name under `/studio/`, with a digest of the contents; the page itself has the name "". */
  readonly name: string;
  readonly mediaType: string;
  readonly text: string;
  /** Digest of the text. */
  readonly digest: string;
}

/** The built files, or null in a clone. */
export const pageFiles: readonly PageFile[] | null = null;
