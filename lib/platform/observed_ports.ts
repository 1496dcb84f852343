/** Ports whose calls are observed: by a tracer, which records spans and passes traces on, and by the metrics of the process. */

import type { Mailer, Outbound, WebhookSender } from "../base/outbound/outbound.ts";
import type { SpanAttributes, TracedCall, TraceFields, Tracer } from "../base/tracing/mod.ts";
import type { Logger } from "../http/mod.ts";
import type { Queue, Store } from "../storage/mod.ts";

export interface Ports {
  readonly store: Store;
  readonly logger: Logger;
  readonly queue?: Queue | undefined;
  readonly webhooks?: WebhookSender | undefined;
  readonly mailer?: Mailer | undefined;
  readonly outbound?: Outbound | undefined;
}

export type PortCall =
  | { readonly port: "store"; readonly operation: "read" | "commit" }
  | { readonly port: "webhook"; readonly url: string }
  | { readonly port: "mail"; readonly kind: string }
  | { readonly port: "outbound"; readonly operation: "get" | "post"; readonly url: string };

/** Runs a call. The work gets further header fields for what it sends. */
export type Observe = <T>(call: PortCall, work: (fields: TraceFields) => Promise<T>) => Promise<T>;

export function observedPorts<P extends Ports>(ports: P, observe: Observe): P {
  const { store, webhooks, mailer, outbound } = ports;
  return {
    ...ports,
    store: observedStore(store, observe),
    webhooks: webhooks && {
      send: message =>
        observe({ port: "webhook", url: message.url }, fields =>
          webhooks.send({ ...message, headers: { ...message.headers, ...fields } }),
        ),
    },
    mailer: mailer && {
      send: mail => observe({ port: "mail", kind: mail.kind }, () => mailer.send(mail)),
    },
    outbound: outbound && {
      get: request =>
        observe({ port: "outbound", operation: "get", url: request.url }, () => outbound.get(request)),
      post: request =>
        observe({ port: "outbound", operation: "post", url: request.url }, fields =>
          outbound.post({ ...request, headers: { ...request.headers, ...fields } }),
        ),
    },
  };
}

const storeRead: PortCall = { port: "store", operation: "read" };
const storeCommit: PortCall = { port: "store", operation: "commit" };

function observedStore(store: Store, observe: Observe): Store {
  return {
    traits: store.traits,
    read: (partition, queries) => observe(storeRead, () => store.read(partition, queries)),
    commit: (partition, batch) => observe(storeCommit, () => store.commit(partition, batch)),
    lastChange: partition => store.lastChange?.(partition),
    ping: () => store.ping(),
    now: store.now,
    warnings: async () => (await store.warnings?.()) ?? [],
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** Returns ports that record spans of their calls, pass traces on, and put the id of the trace into log lines. */
export function tracedPorts<P extends Ports>(ports: P, tracer: Tracer): P {
  return {
    ...observedPorts(ports, (call, work) => tracer.call(spanOf(call), work)),
    logger: tracedLogger(ports.logger, tracer),
  };
}

function spanOf(call: PortCall): TracedCall<unknown> {
  switch (call.port) {
    case "store":
      return storeSpans[call.operation];
    case "webhook":
      return { name: "webhook POST", attributes: requestAttributes("POST", call.url) };
    case "mail":
      return { name: "mail", attributes: {} };
    case "outbound": {
      const method = call.operation.toUpperCase();
      return {
        name: `outbound ${method}`,
        attributes: requestAttributes(method, call.url),
        resultAttributes: reply => ({
          "http.response.status_code": (reply as Awaited<ReturnType<Outbound["get"]>>).status,
        }),
      };
    }
  }
}

const storeSpans = {
  read: { name: "store.read", attributes: { "db.operation.name": "read" } },
  commit: { name: "store.commit", attributes: { "db.operation.name": "commit" } },
};

/** The address may hold a secret, its host does not. */
function requestAttributes(method: string, url: string): SpanAttributes {
  const host = URL.canParse(url) ? { "server.address": new URL(url).hostname } : {};
  return { "http.request.method": method, ...host };
}

function tracedLogger(logger: Logger, tracer: Tracer): Logger {
  return {
    enabled: level => logger.enabled(level),
    log(level, event, fields) {
      const traceId = tracer.traceId();
      logger.log(level, event, traceId === null ? fields : { ...fields, traceId });
    },
  };
}
