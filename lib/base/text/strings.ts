const utf8 = new TextEncoder();
/** As a signed integer: where the hash began as a double, V8 of Node 20 has computed wrong shards in optimised code. */
const fnvOffset = 0x811c9dc5 | 0;
const fnvPrime = 0x01000193;
const firstBeyondAscii = 0x80;

/**
 * Returns the shard of a name. Stable on every runtime and for ever: FNV-1a (Fowler, Noll, Vo; 32 bits) over the UTF-8 bytes
 * of the name, modulo the number of shards.
 */
export function shardOf(name: string, shards: number): number {
  if (shards === 1) return 0;
  let hash = fnvOffset;
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index);
    // Most ids are ASCII, whose units are the bytes already.
    if (unit >= firstBeyondAscii) return hashOf(utf8.encode(name)) % shards;
    hash = Math.imul(hash ^ unit, fnvPrime);
  }
  return (hash >>> 0) % shards;
}

function hashOf(bytes: Uint8Array): number {
  let hash = fnvOffset;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, fnvPrime);
  return hash >>> 0;
}

/** Characters that no address has (RFC 5321, section 4.5.3.1). Longer texts are returned unchanged, as their check refuses them. */
const emailCharactersMax = 1_024;
/** Characters whose composed form is another one of ASCII, which mail servers distinguish. */
const lookAlikes = /[^\u212a\u037e\u1fef]+/g;

/**
 * Writes an e-mail address in its one form: the local part composed (NFC, RFC 6532), an internationalised domain in ASCII (UTS 46).
 * The case of letters stays.
 */
export function canonicalEmail(email: string): string {
  if (email.length > emailCharactersMax) return email;
  const at = email.lastIndexOf("@") + 1;
  const domain = email.slice(at);
  const local = email.slice(0, at).replace(lookAlikes, part => part.normalize("NFC"));
  return local + (/[\u0080-\uffff]/.test(domain) ? asciiDomain(domain) : domain);
}

/** Returns the ASCII form of a domain; the text as it is if it is none. */
function asciiDomain(domain: string): string {
  const url = `http://${domain}`;
  if (/[\s/\\?#:%[\]]/.test(domain) || !URL.canParse(url)) return domain;
  const { hostname } = new URL(url);
  return /^[a-z0-9.-]+$/.test(hostname) && !/\d$/.test(hostname) ? hostname : domain;
}

/**
 * Returns the same text as a flat string. V8 keeps concatenated strings as a tree until a character is read, which takes half
 * as much memory again and slows garbage collection.
 */
export function flattenString(text: string): string {
  // Reading a character flattens the string. The result depends on the read so that the compiler keeps it.
  return Number.isNaN(text.charCodeAt(0)) ? "" : text;
}

/** Returns true for a host, as `URL` writes it, that is this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
