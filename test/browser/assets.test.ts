/** Uploaded pictures as Chromium shows them. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { browserAvailable } from "../support/browser.ts";
import { exif, jpegWith, pngWith, secrets, webpWith } from "../support/photos.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { openContext } from "./_studio.ts";

describe("uploaded pictures in a browser", { skip: browserAvailable() }, () => {
  let page: Page;
  let world: TestPlatform;
  let headers: Readonly<Record<string, string>>;
  before(async () => {
    page = await (await openContext()).newPage();
    world = await openPlatform(async clock => createMemoryStore({ clock }));
    const { authors } = world.platform;
    const { id: userId } = await authors.findOrCreate("sam@club.example", { operator: true });
    headers = { authorization: `Bearer ${(await authors.createToken({ userId, name: "Tests" })).token}` };
  });
  after(async () => {
    await page?.context().close();
    await world?.dispose();
  });

  /** Uploads a picture. Returns its size as the platform says it, and as the browser shows it: null if it shows none. */
  async function sizesOf(picture: Buffer) {
    const target = `http://localhost/api/v2/spaces/${ids.space}/assets?name=picture`;
    const request = new Request(target, { method: "POST", body: new Uint8Array(picture), headers });
    const made = await world.platform.fetch(request);
    assert.ok(made.ok);
    const { url, width, height } = (await made.json()).data.attributes;
    const served = await world.platform.fetch(new Request(url));
    const bytes = Buffer.from(await served.arrayBuffer());
    const source = `data:${served.headers.get("content-type")};base64,${bytes.toString("base64")}`;
    const shown = await page.evaluate(async address => {
      const image = new Image();
      image.src = address;
      return await image.decode().then(
        () => [image.naturalWidth, image.naturalHeight],
        () => null,
      );
    }, source);
    return { said: [width, height], shown, bytes };
  }

  it("are photos of the size that is said, without their position", async () => {
    const withMetadata = { "image/jpeg": jpegWith, "image/png": pngWith, "image/webp": webpWith };
    for (const [mime, withBlock] of Object.entries(withMetadata)) {
      const plain = await page.evaluate(async type => {
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [400, 300];
        canvas.getContext("2d")?.fillText("Goal", 10, 10);
        return canvas.toDataURL(type);
      }, mime);
      const picture = Buffer.from(plain.slice(plain.indexOf(",") + 1), "base64");
      for (const orientation of [1, 3, 6, 8]) {
        const { said, shown, bytes } = await sizesOf(withBlock(exif({ orientation }), picture));
        assert.deepEqual(said, orientation > 4 ? [300, 400] : [400, 300], mime);
        // Chromium turns no WebP; Safari does.
        if (mime !== "image/webp") assert.deepEqual(shown, said, `${mime}, orientation ${orientation}`);
        assert.deepEqual(
          Object.values(secrets).filter(secret => bytes.includes(secret)),
          [],
        );
      }
    }
  });

  it("are drawings of every encoding, with what may precede them", async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"/>';
    const subset =
      '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd" [<!ENTITY ns "http://www.w3.org/2000/svg"> <!-- ]> -->]>';
    for (const drawing of [
      Buffer.from(subset + svg.replace("http://www.w3.org/2000/svg", "&ns;")),
      Buffer.from(`<?xml version="1.0" encoding="ISO-8859-1"?><!-- \xe9 -->${svg}`, "latin1"),
      Buffer.from(`\ufeff${svg}`, "utf16le"),
      Buffer.from(`\ufeff${svg}`, "utf16le").swap16(),
      Buffer.from(`<?xml version="1.0" encoding="UTF-16"?>${svg}`, "utf16le"),
      Buffer.from(`<!doctype svg>${svg}`),
    ]) {
      const { said, shown } = await sizesOf(drawing);
      assert.deepEqual(
        [said, shown],
        [
          [40, 30],
          [40, 30],
        ],
        drawing.subarray(0, 60).toString("latin1"),
      );
    }
  });
});
