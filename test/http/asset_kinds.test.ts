/** What is found in the files of assets, and what is removed from photos. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { crc32 } from "node:zlib";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import {
  copyright,
  exif,
  heifWith,
  jpegWith,
  photosWith,
  pngWith,
  secrets,
  webpWith,
} from "../support/photos.ts";
import { openPlatform } from "../support/platform.ts";
import { clientOf, digestOf, read } from "./_assets.ts";

const utf16 = (text: string): string => Buffer.from(text, "utf16le").toString("latin1");
const swapped = (text: string): string => Buffer.from(text, "latin1").swap16().toString("latin1");

/** Beginnings of files, one character for a byte, and what is found in them. */
const beginnings: readonly (readonly [string, string, number | null, number | null])[] = [
  ["GIF89a\x20\x03\x58\x02", "image/gif", 800, 600],
  ["\xff\xd8\xff\xe0\0\x04\0\0\xff\xc0\0\x11\x08\x01\x2c\x01\x90\x03\x01", "image/jpeg", 400, 300],
  ["RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x1f\x03\0\x57\x02\0", "image/webp", 800, 600],
  ["\0\0\0\x18ftypmif1\0\0\0\0avifmif1\0\0\0\x09mdat ", "image/avif", null, null],
  ["\0\0\0\x14ftypisom\0\0\0\0mp42", "video/mp4", null, null],
  ["\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm", "video/webm", null, null],
  ["ID3\x04\0", "audio/mpeg", null, null],
  ["\xff\xfb\x90\0", "audio/mpeg", null, null],
  ["OggS\0\x02vorbis", "audio/ogg", null, null],
  ["RIFF\0\0\0\0WAVEfmt ", "audio/wav", null, null],
  ["%PDF-1.7\n", "application/pdf", null, null],
  ["wOF2\0\x01\0\0", "font/woff2", null, null],
  ['{"a": 1}', "application/json", null, null],
  ['{"a": 1', "text/plain", null, null],
  ["WEBVTT\n", "text/vtt", null, null],
  ['<svg width="10px" height="20"></svg>', "image/svg+xml", 10, 20],
  ['<svg:svg xmlns:svg="http://www.w3.org/2000/svg" viewBox="0 0 4 3"/>', "image/svg+xml", 4, 3],
  ['<!doctype svg><svg width="4" height="3"/>', "image/svg+xml", 4, 3],
  [
    `<?xml version="1.0"?><?xml-stylesheet href="a.css"?><!DOCTYPE svg PUBLIC "-//W3C//DTD>" 'x[' [
      <!-- Don't > stop --> <!ENTITY ns "http://www.w3.org/2000/svg]>"> ] ><svg xmlns="&ns;" width="4" height="3">`,
    "image/svg+xml",
    4,
    3,
  ],
  [
    '<?xml version="1.0" encoding="ISO-8859-1"?><!-- \xe9 --><svg width="4" height="3"/>',
    "image/svg+xml",
    4,
    3,
  ],
  [utf16('<svg width="4" height="3"/>'), "image/svg+xml", 4, 3],
  [swapped(utf16('\ufeff<?xml version="1.0"?><svg width="4" height="3"/>')), "image/svg+xml", 4, 3],
  [utf16("\ufeff<p>Text</p>"), "application/octet-stream", null, null],
  ["<!DOCTYPE svg [", "text/plain", null, null],
  ["<!DOCTYPE html><svg></svg>", "text/plain", null, null],
  ["<svgx>", "text/plain", null, null],
  ["<!-- --><!-- ".repeat(20_000), "text/plain", null, null],
  ["\x89PNG\r\n\x1a\n", "image/png", null, null],
  ["caf\xe9", "application/octet-stream", null, null],
];

describe("assets", () => {
  it("have the type and size that their contents show", async t => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    t.after(() => world.dispose());
    const { upload } = await clientOf(world);
    for (const [text, ...wanted] of beginnings) {
      const made = await upload({ name: "file" }, Buffer.from(text, "latin1"));
      assert.equal(made.status, 201, made.text);
      const { mime, width, height } = made.json.data.attributes;
      assert.deepEqual([mime, width, height], wanted, text.slice(0, 20));
    }
  });

  async function uploads(t: TestContext) {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    t.after(() => world.dispose());
    const { upload } = await clientOf(world);
    return async (file: Uint8Array) => {
      const made = await upload({ name: "photo" }, new Uint8Array(file));
      assert.ok(made.status < 300, made.text);
      const { url, ...attributes } = made.json.data.attributes;
      const served = Buffer.from(await (await read(world, url)).arrayBuffer());
      return { status: made.status, id: made.json.data.id, attributes, served };
    };
  }

  it("are photos without their position, of the size at which they are shown", async t => {
    const upload = await uploads(t);
    for (const order of ["MM", "II"] as const)
      for (const [mime, file] of Object.entries(photosWith(exif({ order })))) {
        const { attributes, served, ...first } = await upload(file);
        const shown = [attributes.mime, attributes.width, attributes.height];
        assert.deepEqual(shown, [mime, 300, 400], mime);
        assert.equal(served.length, file.length);
        assert.deepEqual([attributes.bytes, attributes.sha256], [served.length, digestOf(served)]);
        for (const secret of Object.values(secrets)) {
          assert.ok(file.includes(secret), mime);
          assert.ok(!served.includes(secret), `${mime} ${served.toString("latin1")}`);
        }
        assert.equal(served.toString("latin1").split(copyright).length, 3, "The owner stays in Exif and XMP");
        for (const equal of [file, served]) {
          const again = await upload(equal);
          assert.deepEqual([again.status, again.id], [200, first.id], mime);
        }
      }
  });

  it("are photos with a size that no turn changes where they have none", async t => {
    const upload = await uploads(t);
    const block = exif({ orientation: 3, position: false });
    for (const file of [jpegWith(block), pngWith(block), webpWith(block), heifWith(block, { quarters: 2 })]) {
      const { attributes } = await upload(file);
      assert.deepEqual([attributes.width, attributes.height], [400, 300], attributes.mime);
    }
  });

  it("keep a PNG whole whose metadata changed", async t => {
    const { served } = await (await uploads(t))(pngWith(exif()));
    for (let at = 8; at < served.length; ) {
      const length = served.readUInt32BE(at);
      const sum = crc32(served.subarray(at + 4, at + 8 + length));
      assert.equal(served.readUInt32BE(at + 8 + length), sum, served.toString("latin1", at + 4, at + 8));
      at += 12 + length;
    }
  });

  it("are further pictures of a JPEG without their position", async t => {
    const photo = jpegWith(exif());
    const { served } = await (await uploads(t))(
      Buffer.concat([photo, Buffer.from("\xff\xe1 trailer", "latin1"), photo]),
    );
    assert.deepEqual(
      Object.values(secrets).filter(secret => served.includes(secret)),
      [],
    );
  });

  it("are refused where the position cannot be taken out", async t => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    t.after(() => world.dispose());
    const { upload } = await clientOf(world);
    const large = Buffer.alloc(4_194_304);
    for (const file of [
      heifWith(exif(), { isReversed: true }),
      webpWith(large),
      pngWith(large),
      heifWith(large),
    ]) {
      const { status, json } = await upload({ name: "photo" }, new Uint8Array(file));
      assert.equal(status, 400);
      assert.match(json.errors[0].detail, /metadata.*: save the picture without metadata/);
    }
  });

  it("lose Exif whose position cannot be told from the rest", async t => {
    const upload = await uploads(t);
    const block = exif();
    // The position begins behind the end; it has too many fields; a value of it begins behind the end.
    for (const [at, bytes] of [
      [42, [0, 0xff]],
      [63, [0xff, 0xff]],
      [73, [0, 0xff]],
    ] as const) {
      const broken = Buffer.from(block);
      broken.set(bytes, at);
      const { served, attributes } = await upload(jpegWith(broken));
      assert.ok(!served.includes(secrets.degrees), String(at));
      assert.deepEqual([attributes.width, attributes.height], [400, 300], String(at));
    }
  });
});
