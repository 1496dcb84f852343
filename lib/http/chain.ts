/** Goes on with a value at once, or once it has arrived, so that what needs no waiting costs no microtask. */
export function chain<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
