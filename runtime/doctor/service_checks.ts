/** Checks of what a deployment uses beside its store: mail, files, the country database, and its address. */

import { randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { connect } from "node:tls";
import type { Config } from "../config.ts";
import type { Storage } from "../services/storage.ts";
import { type Check, checkMsMax, type Finding, failed, ok, skipped, warning } from "./check.ts";

const dayMs = 86_400_000;
/** Age at which a country database misplaces many addresses. */
const databaseDaysMax = 90;
/** Days before the end of a certificate at which it should have been renewed. */
const certificateDaysMin = 14;
const probeBytes = 65_536;

/** The check of the mail server: connection, TLS and login. It sends nothing. */
export function mailCheck({ smtp, mailFrom, mailWebhook }: Config): Check {
  return {
    name: "mail",
    advice: "See that GRANDSTAND_SMTP has the host, port, user and password of the mail server",
    async run() {
      if (mailWebhook !== undefined)
        return skipped("Mail goes to a webhook, which cannot be tried without a mail");
      if (smtp === undefined || mailFrom === undefined) {
        return skipped("GRANDSTAND_SMTP is not set: users get no codes, and exports no notices");
      }
      const { createSmtpMailer } = await import("../../adapters/mail/smtp.ts");
      await using mailer = createSmtpMailer({ url: smtp, from: mailFrom });
      await mailer.verify();
      return ok(`The mail server takes mail of ${mailFrom}`);
    },
  };
}

/** The check of the storage of files: a write, a read back and a removal. */
export function blobCheck({ blobs }: Pick<Storage, "blobs">): Check {
  return {
    name: "files",
    advice:
      "See that GRANDSTAND_BLOBS names a folder or bucket to which this user may write, with room in it",
    async run() {
      const name = `doctor/${randomUUID()}`;
      const bytes = randomBytes(probeBytes);
      try {
        await blobs.put(name, new Blob([bytes]).stream());
        const found = await blobs.get(name);
        const back = found === null ? null : Buffer.from(await new Response(found.body).arrayBuffer());
        if (back === null || !back.equals(bytes)) {
          return failed(
            "A file came back otherwise than it was written",
            "Do not export to this storage: replace it",
          );
        }
      } finally {
        await blobs.remove(name).catch(() => {});
      }
      return ok(`${probeBytes / 1_024} KiB were written, read back and removed`);
    },
  };
}

/** The check of the country database. */
export function geoCheck({ geoip }: Config): Check {
  return {
    name: "countries",
    advice: "Replace the file that GRANDSTAND_GEOIP names by a MaxMind DB of countries",
    async run() {
      if (geoip === undefined) return skipped("GRANDSTAND_GEOIP is not set: every location is unknown");
      const { loadGeoDatabase } = await import("../../adapters/geo/mod.ts");
      const { type, builtAt } = await loadGeoDatabase(await readFile(geoip));
      const days = Math.floor((Date.now() - builtAt) / dayMs);
      const seen = `${type} is ${days} days old`;
      return days > databaseDaysMax
        ? warning(seen, "Download a new one: addresses change countries")
        : ok(seen);
    },
  };
}

/** The check of the address at which clients reach the platform. */
export function addressCheck({ publicUrl }: Config): Check {
  const advice = "See that DNS, load balancer and TLS of GRANDSTAND_PUBLIC_URL lead to a running server";
  return {
    name: "public-url",
    advice,
    async run() {
      if (publicUrl === undefined)
        return skipped("GRANDSTAND_PUBLIC_URL is not set: links name the address listened on");
      const signal = AbortSignal.timeout(checkMsMax);
      const response = await fetch(`${publicUrl}/healthz`, { signal, redirect: "manual" });
      const text = (await response.text()).slice(0, 200);
      if (response.status >= 300 && response.status < 400) {
        return failed(
          `It redirects with ${response.status}`,
          "Name the address behind the redirect: clients send tokens there",
        );
      }
      if (response.status !== 200 || !text.includes('"status":"ok"')) {
        return failed(`/healthz answers ${response.status} and is not Grandstand`, advice);
      }
      const { protocol, hostname, port } = new URL(publicUrl);
      if (protocol === "https:") return await certificateFinding(hostname, Number(port === "" ? 443 : port));
      const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
      return isLocal
        ? ok("It answers on this machine")
        : warning("It answers without TLS", "Serve clients over https: tokens travel in the clear");
    },
  };
}

function certificateFinding(host: string, port: number): Promise<Omit<Finding, "check">> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, servername: host, timeout: checkMsMax }, () => {
      const days = Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / dayMs);
      const seen = `It answers; its certificate is valid for ${days} days`;
      socket.end();
      resolve(days < certificateDaysMin ? warning(seen, "Renew the certificate") : ok(seen));
    });
    socket.on("error", reject);
    socket.on("timeout", () => socket.destroy(new Error("There is no answer over TLS")));
  });
}
