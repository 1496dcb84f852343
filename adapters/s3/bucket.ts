/** A bucket, and the strict parser of its URL. */

/** A bucket. */
export interface S3Bucket {
  /** The service: an http or https URL without path, query and credentials. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Prefix of every key in the bucket: empty, or a path that ends with a slash. @default "" */
  readonly prefix?: string;
  /** @default "us-east-1" */
  readonly region?: string;
  /** True if the bucket is in the path of URLs or in their host. @default "path" */
  readonly style?: "path" | "virtual";
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** With temporary credentials. */
  readonly sessionToken?: string;
}

/** Calls a function after a time in ms, and answers how to call that off. */
export type S3Timer = (ms: number, act: () => void) => () => void;

/** A bucket, and what of the runtime is used for it. */
export interface S3BlobsOptions extends S3Bucket {
  /** Unix ms; services refuse requests that are minutes off. @default Date.now */
  readonly clock?: () => number;
  /** Sends a request. @default the `fetch` of the runtime */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** @default the timer of the process */
  readonly after?: S3Timer;
  /** A number from 0 to 1, to spread what many do at once. @default Math.random */
  readonly random?: () => number;
}

/** Returns the URL of a key. */
export function urlOf({ endpoint, bucket, prefix = "", style = "path" }: S3Bucket, name: string): URL {
  const url = new URL(endpoint);
  if (style === "virtual") url.hostname = `${bucket}.${url.hostname}`;
  url.pathname = `${style === "path" ? `/${bucket}` : ""}/${prefix}${name}`;
  return url;
}

const bucketPattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const folderPattern = /^[A-Za-z0-9._-]+$/;
const regionPattern = /^[a-z0-9-]{1,64}$/;

/**
 * Understands `https://<access key id>:<secret>@<host>/<bucket>`, optionally with folders behind the bucket and with the
 * parameters `region=<region>` and `style=virtual`. Access key id and secret are percent-encoded.
 *
 * @throws {TypeError} The URL says something else. The message does not repeat it, because it holds a secret.
 */
export function parseS3Url(text: string): S3Bucket {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw unusable("expected https://host/bucket");
  const [bucket = "", ...folders] = url.pathname.replace(/^\/|\/$/g, "").split("/");
  if (!bucketPattern.test(bucket)) throw unusable("expected the name of a bucket as its path");
  if (!folders.every(isFolder))
    throw unusable("folders behind the bucket are of A-Z, a-z, 0-9, '.', '_' and '-'");
  if (url.hash !== "") throw unusable("expected no fragment");
  return {
    endpoint: url.origin,
    bucket,
    prefix: folders.map(folder => `${folder}/`).join(""),
    ...credentialsOf(url),
    ...parametersOf(url.searchParams),
  };
}

function isFolder(name: string): boolean {
  return folderPattern.test(name) && name !== "." && name !== "..";
}

function credentialsOf({ username, password }: URL): Pick<S3Bucket, "accessKeyId" | "secretAccessKey"> {
  if (username === "" || password === "")
    throw unusable("expected an access key id and a secret before the host");
  try {
    return { accessKeyId: decodeURIComponent(username), secretAccessKey: decodeURIComponent(password) };
  } catch {
    throw unusable("access key id and secret must be percent-encoded");
  }
}

function parametersOf(parameters: URLSearchParams): Pick<S3Bucket, "region" | "style"> {
  const { region, style, ...others } = Object.fromEntries(parameters);
  if (Object.keys(others).length > 0) throw unusable("the parameters are region and style");
  if (region !== undefined && !regionPattern.test(region))
    throw unusable("the region is no name of a region");
  if (style !== undefined && style !== "path" && style !== "virtual")
    throw unusable("style is path or virtual");
  return { ...(region === undefined ? {} : { region }), ...(style === undefined ? {} : { style }) };
}

function unusable(expectation: string): TypeError {
  return new TypeError(`Cannot use the S3 URL: ${expectation}`);
}
