/** Addresses of servers of others. */

/** Longest address, in characters. */
export const remoteUrlCharactersMax = 512;

/**
 * The address, or undefined unless it is one that may be asked: https, or plain http on the machine itself, without
 * credentials. `near` is the address that names it: only what is on this machine may name something on this machine.
 */
export function remoteUrl(text: string, near?: URL): URL | undefined {
  if (text.length > remoteUrlCharactersMax || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.username !== "" || url.password !== "" || url.hash !== "") return undefined;
  const isLocal = isLoopback(url);
  if (isLocal && near !== undefined && !isLoopback(near)) return undefined;
  return url.protocol === "https:" || (url.protocol === "http:" && isLocal) ? url : undefined;
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
