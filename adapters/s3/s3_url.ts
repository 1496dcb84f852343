/** What an S3 URL says, read strictly. */

import type { S3Bucket } from "./bucket.ts";

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
