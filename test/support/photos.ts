/** Photos with metadata, for tests. */

import { crc32 } from "node:zlib";

const latin = (text: string): Buffer => Buffer.from(text, "latin1");
const big = (value: number, bytes: number): Buffer =>
  latin(
    value
      .toString(16)
      .padStart(bytes * 2, "0")
      .match(/../g)
      ?.map(hex => String.fromCharCode(Number.parseInt(hex, 16)))
      .join("") ?? "",
  );
const little = (value: number, bytes: number): Buffer => big(value, bytes).reverse();
const joined = (...parts: readonly (Uint8Array | string)[]): Buffer =>
  Buffer.concat(parts.map(part => (typeof part === "string" ? latin(part) : part)));

/** What no file may have that is served: degrees, minutes and seconds of a position, and its place in XMP. */
export const secrets = { place: "41,22.8541N", degrees: "GPS-41-22-51-002-10" } as const;
/** What a photo keeps. */
export const copyright = "Club Example";

/** Exif with an orientation, an owner and a position, each order of bytes. */
export function exif({ orientation = 6, order = "MM" as "MM" | "II", position = true } = {}): Buffer {
  const number = order === "MM" ? big : little;
  const field = (tag: number, type: number, count: number, value: Uint8Array) =>
    joined(number(tag, 2), number(type, 2), number(count, 4), value);
  const count = position ? 3 : 2;
  const owner = 8 + 2 + count * 12 + 4;
  const directory = owner + copyright.length + 1;
  const values = directory + 2 + 12 + 4;
  const fields = [
    field(0x0112, 3, 1, joined(number(orientation, 2), "\0\0")),
    field(0x8298, 2, copyright.length + 1, number(owner, 4)),
    ...(position ? [field(0x8825, 4, 1, number(directory, 4))] : []),
  ];
  const gps = [
    number(1, 2),
    field(0x001b, 7, secrets.degrees.length, number(values, 4)),
    "\0\0\0\0",
    secrets.degrees,
  ];
  const head = [order, number(42, 2), number(8, 4), number(count, 2), ...fields, "\0\0\0\0"];
  return joined(...head, `${copyright}\0`, ...(position ? gps : []));
}

/** XMP with an owner and a position, as attribute and as element. */
export const xmp = latin(
  `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF><rdf:Description xmlns:exif="http://ns.adobe.com/exif/1.0/" exif:GPSLatitude="${secrets.place}" dc:rights="${copyright}"><exif:GPSLongitude>${secrets.place}</exif:GPSLongitude></rdf:Description></rdf:RDF></x:xmpmeta>`,
);

const segment = (marker: string, ...parts: readonly (Uint8Array | string)[]): Buffer => {
  const content = joined(...parts);
  return joined(`\xff${marker}`, big(content.length + 2, 2), content);
};
const applications = (block: Uint8Array) => [
  segment("\xe1", "Exif\0\0", block),
  segment("\xe1", "http://ns.adobe.com/xap/1.0/\0", xmp),
];

/** The beginning of a JPEG of 400 × 300. */
const smallJpeg = joined(
  "\xff\xd8",
  segment("\xc0", "\x08\x01\x2c\x01\x90\x01\x01\x11\0"),
  segment("\xda", "\x01\x01\0\0\x3f\0"),
  "\x12\xff\0\x34\xff\xd0\x56\xff\xd9",
);

/** Adds metadata to a JPEG. */
export function jpegWith(block: Uint8Array, jpeg: Uint8Array = smallJpeg): Buffer {
  return joined(jpeg.subarray(0, 2), ...applications(block), jpeg.subarray(2));
}

const pngChunk = (type: string, content: Uint8Array | string): Buffer => {
  const summed = joined(type, content);
  return joined(big(summed.length - 4, 4), summed, big(crc32(summed), 4));
};
const smallPng = joined(
  "\x89PNG\r\n\x1a\n",
  pngChunk("IHDR", joined(big(400, 4), big(300, 4), "\x08\x02\0\0\0")),
  pngChunk("IEND", ""),
);

/** Adds metadata to a PNG. */
export function pngWith(block: Uint8Array, png: Uint8Array = smallPng): Buffer {
  const texts = [
    pngChunk("iTXt", joined("XML:com.adobe.xmp\0\0\0\0\0", xmp)),
    pngChunk("zTXt", joined("Raw profile type exif\0\0", secrets.place)),
    pngChunk("tEXt", "Title\0Goal"),
  ];
  return joined(png.subarray(0, 33), pngChunk("eXIf", block), ...texts, png.subarray(33));
}

const riffChunk = (type: string, content: Uint8Array): Buffer =>
  joined(type, little(content.length, 4), content, content.length % 2 === 1 ? "\0" : "");
const smallWebp = joined(
  "RIFF\0\0\0\0WEBP",
  riffChunk("VP8 ", joined("\0\0\0\x9d\x01\x2a", little(400, 2), little(300, 2))),
);

/** Adds metadata to a WebP, behind the picture. */
export function webpWith(block: Uint8Array, webp: Uint8Array = smallWebp): Buffer {
  const picture = webp.subarray(webp.subarray(12, 16).toString() === "VP8X" ? 30 : 12);
  const size = joined(little(400 - 1, 3), little(300 - 1, 3));
  const content = joined(
    "WEBP",
    riffChunk("VP8X", joined("\x0c\0\0\0", size)),
    picture,
    riffChunk("EXIF", block),
    riffChunk("XMP ", xmp),
  );
  return joined("RIFF", little(content.length, 4), content);
}

const box = (type: string, ...parts: readonly (Uint8Array | string)[]): Buffer => {
  const content = joined(...parts);
  return joined(big(content.length + 8, 4), type, content);
};

/** A HEIC or AVIF of 400 × 300 with metadata, the first picture of which is a tile. */
export function heifWith(
  block: Uint8Array,
  { brand = "heic", quarters = 1, isReversed = false, isInside = false } = {},
): Buffer {
  const item = joined("\0\0\0\x06Exif\0\0", block);
  const file = box("ftyp", brand, "\0\0\0\0", "mif1", brand);
  const meta = (start: number): Buffer => {
    const location = (id: number, method: number, at: number, length: number) =>
      joined(big(id, 2), big(method, 2), "\0\0", big(1, 2), big(at, 4), big(length, 4));
    const placed = isInside ? [1, 0] : [0, start];
    const size = (width: number, height: number) => box("ispe", "\0\0\0\0", big(width, 4), big(height, 4));
    return box(
      "meta",
      "\0\0\0\0",
      box("pitm", "\0\0\0\0", big(2, 2)),
      box(
        "iinf",
        "\0\0\0\0",
        big(4, 2),
        box("infe", "\x02\0\0\0", big(1, 2), "\0\0", "hvc1\0"),
        box("infe", "\x02\0\0\0", big(2, 2), "\0\0", "grid\0"),
        box("infe", "\x02\0\0\0", big(3, 2), "\0\0", "Exif\0"),
        box("infe", "\x02\0\0\0", big(4, 2), "\0\0", "mime\0application/rdf+xml\0"),
      ),
      box(
        "iloc",
        "\x01\0\0\0\x44\0",
        big(2, 2),
        location(3, placed[0] ?? 0, placed[1] ?? 0, item.length),
        location(4, placed[0] ?? 0, (placed[1] ?? 0) + item.length, xmp.length),
      ),
      box(
        "iprp",
        box("ipco", size(512, 512), size(400, 300), box("irot", String.fromCharCode(quarters))),
        box("ipma", "\0\0\0\0", big(2, 4), big(1, 2), "\x01\x01", big(2, 2), "\x02\x82\x83"),
      ),
      ...(isInside ? [box("idat", item, xmp)] : []),
    );
  };
  const data = box("mdat", isInside ? "picture" : joined(item, xmp, "picture"));
  if (isReversed) return joined(file, data, meta(file.length + 8));
  return joined(file, meta(file.length + meta(0).length + 8), data);
}

/** Every kind of photo with metadata, by name. */
export function photosWith(block: Uint8Array): Readonly<Record<string, Buffer>> {
  return {
    "image/jpeg": jpegWith(block),
    "image/png": pngWith(block),
    "image/webp": webpWith(block),
    "image/heic": heifWith(block),
    "image/avif": heifWith(block, { brand: "avif", isInside: true }),
  };
}
