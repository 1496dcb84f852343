/** Where blobs are, and as whom they are reached. */

/** A bucket. */
export interface S3Bucket {
  /** The service: an http or https URL without path, query and credentials. */
  readonly endpoint: string;
  readonly bucket: string;
  /** What every key of the bucket begins with: empty, or a path that ends with a slash. @default "" */
  readonly prefix?: string;
  /** @default "us-east-1" */
  readonly region?: string;
  /** Whether the bucket is in the path of URLs or in their host. @default "path" */
  readonly style?: "path" | "virtual";
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** With temporary credentials. */
  readonly sessionToken?: string;
}

/** Calls a function after a time in ms, and answers how to call that off. */
export type After = (ms: number, act: () => void) => () => void;

/** A bucket, and what of the runtime is used for it. */
export interface S3BlobsOptions extends S3Bucket {
  /** Unix ms; services refuse requests that are minutes off. @default Date.now */
  readonly clock?: () => number;
  /** Sends a request. @default the `fetch` of the runtime */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** @default the timer of the process */
  readonly after?: After;
  /** A number from 0 to 1, to spread what many do at once. @default Math.random */
  readonly random?: () => number;
}

/** The URL of a key. */
export function urlOf({ endpoint, bucket, prefix = "", style = "path" }: S3Bucket, name: string): URL {
  const url = new URL(endpoint);
  if (style === "virtual") url.hostname = `${bucket}.${url.hostname}`;
  url.pathname = `${style === "path" ? `/${bucket}` : ""}/${prefix}${name}`;
  return url;
}
