/**
 * What an SMTP URL says, read strictly: a typing error must not turn encryption off.
 *
 * @module
 */

/** Port of mail submission with STARTTLS (RFC 6409). */
export const submissionPort = 587;
/** Port of mail submission over TLS from the first byte (RFC 8314). */
export const implicitTlsPort = 465;

/** Where mail is handed in, and as whom. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte, TLS demanded after the greeting, or none. */
  readonly security: "tls" | "starttls" | "none";
  readonly credentials: { readonly user: string; readonly pass: string } | null;
}

/**
 * Understands `smtp://host` (STARTTLS is demanded), `smtps://host` (TLS from the first byte) and `smtp://host?tls=off`
 * (plain text, without credentials only). User and password go before the host, percent-encoded.
 *
 * @throws {TypeError} The URL says something else. The message does not repeat it, because it may hold a password.
 */
export function parseSmtpUrl(text: string): SmtpServer {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === "") {
    throw unusable("expected smtp://host or smtps://host");
  }
  if (!/^\/?$/.test(url.pathname) || url.hash !== "") throw unusable("expected nothing behind host and port");
  const isTls = url.protocol === "smtps:";
  const security = isTls ? "tls" : url.search === "?tls=off" ? "none" : "starttls";
  if (url.search !== "" && security !== "none") throw unusable("the only parameter is tls=off, with smtp://");
  const credentials = credentialsOf(url);
  if (credentials !== null && security === "none") throw unusable("credentials are not sent without TLS");
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? (isTls ? implicitTlsPort : submissionPort) : Number(url.port),
    security,
    credentials,
  };
}

function credentialsOf({ username, password }: URL): SmtpServer["credentials"] {
  if (username === "" && password === "") return null;
  if (username === "" || password === "") throw unusable("expected both user and password, or neither");
  try {
    return { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  } catch {
    throw unusable("user and password must be percent-encoded");
  }
}

function unusable(expectation: string): TypeError {
  return new TypeError(`Cannot use the SMTP URL: ${expectation}`);
}
