type Optional<T> = { [K in keyof T]: undefined extends T[K] ? K : never }[keyof T];

export function present<T extends object>(
  members: T,
): Omit<T, Optional<T>> & { readonly [K in Optional<T>]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
