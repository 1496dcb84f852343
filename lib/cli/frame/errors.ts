export const exits = {
  ok: 0,
  failed: 1,
  /** Wrong usage, or consent is missing where nobody can be asked. */
  usage: 2,
  differs: 3,
  unauthenticated: 4,
  forbidden: 5,
  notFound: 6,
  /** A concurrent change, or a state that does not allow it. */
  conflict: 7,
  invalid: 8,
  unavailable: 9,
  declined: 10,
  interrupted: 130,
} as const;

export type Exit = (typeof exits)[keyof typeof exits];

export interface CliErrorOptions {
  readonly code: string;
  readonly status?: number | undefined;
  readonly hint?: string | undefined;
  readonly next?: string | undefined;
  readonly details?: readonly string[] | undefined;
  readonly requestId?: string | undefined;
  /** What the server said of it by name, such as the id of a record that is in the way. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

export class CliError extends Error {
  override readonly name = "CliError";
  readonly exit: Exit;
  readonly options: CliErrorOptions;

  /** Lines of the message behind the first one become details. */
  constructor(exit: Exit, message: string, options: CliErrorOptions) {
    const [first = "", ...others] = message.split("\n");
    super(first);
    this.exit = exit;
    const details = [...others.map(line => line.trim()), ...(options.details ?? [])];
    this.options = details.length === 0 ? options : { ...options, details };
  }
}

export function wrongUsage(message: string, more: Partial<CliErrorOptions> = {}): CliError {
  return new CliError(exits.usage, message, { code: "wrong_usage", ...more });
}

export function missingFile(path: string, more: Partial<CliErrorOptions> = {}): CliError {
  return wrongUsage(`Cannot read ${path}: there is no such file`, { code: "missing_file", ...more });
}

export function conflict(message: string, more: Partial<CliErrorOptions> = {}): CliError {
  return new CliError(exits.conflict, message, { code: "conflict", ...more });
}

export function notFound(message: string, more: Partial<CliErrorOptions> = {}): CliError {
  return new CliError(exits.notFound, message, { code: "not_found", ...more });
}

export function invalid(message: string, more: Partial<CliErrorOptions> = {}): CliError {
  return new CliError(exits.invalid, message, { code: "validation_failed", ...more });
}

/** Makes a failure of the server with this status say what the command knows of it; for `catch`. */
export function explain(
  status: number,
  by: (failure: CliError) => CliError | null,
): (failure: unknown) => never {
  return failure => {
    const isMeant = failure instanceof CliError && failure.options.status === status;
    throw (isMeant ? by(failure) : null) ?? failure;
  };
}

export function exitOf(status: number): Exit {
  switch (status) {
    case 401:
      return exits.unauthenticated;
    case 403:
      return exits.forbidden;
    case 404:
      return exits.notFound;
    case 409:
    case 412:
    case 428:
      return exits.conflict;
    case 400:
    case 413:
    case 415:
    case 422:
      return exits.invalid;
    case 429:
    case 502:
    case 503:
    case 504:
      return exits.unavailable;
    default:
      return exits.failed;
  }
}
