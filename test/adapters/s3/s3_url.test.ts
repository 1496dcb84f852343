import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseS3Url } from "../../../adapters/s3/mod.ts";

describe("an S3 URL", () => {
  it("names service, bucket and credentials", () => {
    assert.deepEqual(parseS3Url("https://AKIA:s%2Fcret%3D@s3.example.org/media"), {
      endpoint: "https://s3.example.org",
      bucket: "media",
      prefix: "",
      accessKeyId: "AKIA",
      secretAccessKey: "s/cret=",
    });
  });

  it("may name folders, a port, a region and the style of addresses", () => {
    assert.deepEqual(parseS3Url("http://a:b@127.0.0.1:9000/media/exports/live/?region=eu-1&style=virtual"), {
      endpoint: "http://127.0.0.1:9000",
      bucket: "media",
      prefix: "exports/live/",
      accessKeyId: "a",
      secretAccessKey: "b",
      region: "eu-1",
      style: "virtual",
    });
  });

  it("says nothing else, and its secret is not repeated", () => {
    const wrong = [
      "",
      "s3://a:hidden@b",
      "ftp://a:hidden@h/bucket",
      "https://h/bucket",
      "https://a@h/bucket",
      "https://:hidden@h/bucket",
      "https://a:hidden@h",
      "https://a:hidden@h/",
      "https://a:hidden@h/Bucket",
      "https://a:hidden@h/b",
      "https://a:hidden@h/bucket//x",
      "https://a:hidden@h/bucket/a b",
      "https://a:hidden@h/bucket#x",
      "https://a:hidden@h/bucket?regin=x",
      "https://a:hidden@h/bucket?style=both",
      "https://a:hidden@h/bucket?region=",
      "https://a:hidden%@h/bucket",
    ];
    for (const url of wrong) {
      assert.throws(
        () => parseS3Url(url),
        (error: unknown) => error instanceof TypeError && !error.message.includes("hidden"),
        url,
      );
    }
  });
});
