/** A self-signed certificate, made on demand, so that nothing in the repository expires and no tool is needed. */

import { generateKeyPairSync, sign } from "node:crypto";

/** A certificate with its key, both in PEM form. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Certifies `localhost` and an IPv4 address until 2049 (X.509 version 3, ECDSA on P-256). */
export function selfSigned(address: readonly number[] = [127, 0, 0, 1]): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(oid([1, 2, 840, 10045, 4, 3, 2]));
  const name = sequence(der(0x31, sequence(oid([2, 5, 4, 3]), der(0x0c, Buffer.from("localhost")))));
  const validity = sequence(der(0x17, Buffer.from("200101000000Z")), der(0x17, Buffer.from("491231235959Z")));
  const names = sequence(der(0x82, Buffer.from("localhost")), der(0x87, Buffer.from(address)));
  const subjectAltName = sequence(oid([2, 5, 29, 17]), der(0x04, names));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(subjectAltName)),
  );
  const signature = sign("sha256", body, privateKey);
  const whole = sequence(body, algorithm, der(0x03, Buffer.from([0]), signature));
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${whole.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts);
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function oid([first = 0, second = 0, ...rest]: readonly number[]): Buffer {
  const bytes = rest.flatMap(arc => {
    const groups = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
    return groups;
  });
  return der(0x06, Buffer.from([first * 40 + second, ...bytes]));
}
