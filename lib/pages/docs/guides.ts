/**
 * The guides and the files of the pages. A clone has none: `runtime/services/pages.ts` builds them, and the build of the package
 * replaces this module.
 */

/** A guide. */
export interface Guide {
  /** Name in its address. */
  readonly name: string;
  readonly title: string;
  /** HTML, whose links lead to other guides under `../`. */
  readonly content: string;
  /** Its sections, for the search. */
  readonly sections: readonly { readonly id: string; readonly title: string; readonly text: string }[];
}

/** A script or style. */
export interface DocsFile {
  /** Name with a digest of the contents. */
  readonly name: string;
  readonly mediaType: string;
  readonly text: string;
}

/** Everything that is built. */
export interface DocsContent {
  readonly guides: readonly Guide[];
  readonly script: DocsFile;
  readonly style: DocsFile;
}

/** The built contents, or null in a clone. */
export const docsContent: DocsContent | null = null;
