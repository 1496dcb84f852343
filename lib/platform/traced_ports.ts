/**
 * Ports that record spans of their calls, pass traces on, and put the id of the trace into log lines.
 *
 * @module
 */

import type { Mailer, Outbound, OutboundReply, WebhookSender } from "../base/outbound/outbound.ts";
import type { SpanAttributes, Tracer } from "../base/tracing/mod.ts";
import type { Logger } from "../http/mod.ts";
import type { Store } from "../storage/mod.ts";
import type { Ports } from "./metrics/platform_metrics.ts";

export function tracedPorts<P extends Ports>(ports: P, tracer: Tracer): P {
  const { store, logger, webhooks, mailer, outbound } = ports;
  return {
    ...ports,
    store: tracedStore(store, tracer),
    logger: tracedLogger(logger, tracer),
    webhooks: webhooks && tracedWebhooks(webhooks, tracer),
    mailer: mailer && tracedMailer(mailer, tracer),
    outbound: outbound && tracedOutbound(outbound, tracer),
  };
}

function tracedStore(store: Store, tracer: Tracer): Store {
  const callOf = (operation: string): SpanSpec => ({
    name: `store.${operation}`,
    attributes: { "db.operation.name": operation },
  });
  const [read, commit] = [callOf("read"), callOf("commit")];
  return {
    traits: store.traits,
    read: (partition, queries) => tracer.call(read, () => store.read(partition, queries)),
    commit: (partition, batch) => tracer.call(commit, () => store.commit(partition, batch)),
    ping: () => store.ping(),
    now: store.now,
    warnings: async () => (await store.warnings?.()) ?? [],
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

interface SpanSpec {
  readonly name: string;
  readonly attributes: SpanAttributes;
}

function tracedWebhooks(sender: WebhookSender, tracer: Tracer): WebhookSender {
  return {
    send: message =>
      tracer.call(spanOf("webhook", "POST", message.url), headers => sender.send({ ...message, headers })),
  };
}

function tracedMailer(mailer: Mailer, tracer: Tracer): Mailer {
  return { send: mail => tracer.call({ name: "mail", attributes: {} }, () => mailer.send(mail)) };
}

function tracedOutbound(outbound: Outbound, tracer: Tracer): Outbound {
  const resultAttributes = ({ status }: Pick<OutboundReply, "status">): SpanAttributes => ({
    "http.response.status_code": status,
  });
  return {
    get: request =>
      tracer.call({ ...spanOf("outbound", "GET", request.url), resultAttributes }, () =>
        outbound.get(request),
      ),
    post: request =>
      tracer.call({ ...spanOf("outbound", "POST", request.url), resultAttributes }, fields =>
        outbound.post({ ...request, headers: { ...request.headers, ...fields } }),
      ),
  };
}

/** The address may hold a secret, its host does not. */
function spanOf(name: string, method: string, url: string): SpanSpec {
  const host = URL.canParse(url) ? { "server.address": new URL(url).hostname } : {};
  return { name: `${name} ${method}`, attributes: { "http.request.method": method, ...host } };
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
