/** The simulated deployment: servers, processes and their nemesis, and what clients share. */

import {
  createMemoryBlobs,
  createMemoryLimiter,
  createMemoryQueue,
  createMemoryStore,
} from "../../adapters/memory/mod.ts";
import { MasterSecret } from "../../lib/auth/mod.ts";
import { TenantModel } from "./model.ts";
import { type Counters, count, type Servers, type Weather } from "./network.ts";
import { OpenIdProvider } from "./openid_provider.ts";
import { SimulatedProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";
import { seedTenants, type Tenant, tenants } from "./tenants.ts";

const calm: Weather = { refused: 0, lost: 0, dropped: 0, overdue: 0, slow: 0 };

/** The master secret of the deployment, and the one that replaces it. */
export const [oldSecret, newSecret] = [
  "a master secret of the simulated deployment",
  "the next master secret of the deployment",
];

/** Time in ms in which every process learns of a change. */
export const knownMs = 6_000;

/** Everything of one run. */
export class World {
  readonly scheduler: Scheduler;
  readonly servers: Servers;
  readonly processes: readonly SimulatedProcess[];
  readonly weather: Weather = { ...calm };
  readonly counters: Counters = new Map();
  readonly tenants: readonly TenantModel[] = tenants.map(tenant => new TenantModel(tenant));
  /** What did not hold. */
  readonly faults: string[] = [];
  /** False once clients are to finish. */
  isOpen = true;
  /** What processes start with. */
  secret: MasterSecret = new MasterSecret(oldSecret);

  constructor(scheduler: Scheduler, processesMax = 3) {
    this.scheduler = scheduler;
    const clock = (): number => Math.floor(scheduler.now);
    this.servers = {
      store: createMemoryStore({ clock, seed: 1 }),
      queue: createMemoryQueue({ clock }),
      blobs: createMemoryBlobs(),
      limiter: createMemoryLimiter({ clock }),
      mails: [],
      webhooks: [],
      provider: new OpenIdProvider(clock),
    };
    const { servers, weather, counters } = this;
    const deployment = {
      ...{ scheduler, servers, weather, counters },
      secret: () => this.secret,
      onError: (text: string) => this.fault(`logged: ${text}`),
    };
    this.processes = Array.from(
      { length: processesMax },
      (_, index) => new SimulatedProcess(`p${index + 1}`, deployment),
    );
  }

  /** Notes what did not hold. */
  fault(text: string): void {
    this.scheduler.note(`FAULT ${text}`);
    this.faults.push(text);
  }

  /** Creates the tenants and starts the processes in good weather. */
  async open(): Promise<void> {
    await seedTenants(this.servers.store, () => Math.floor(this.scheduler.now));
    for (const process of this.processes) await process.start();
  }

  /** Lets the weather change and processes die until clients are to finish. */
  async disturb(): Promise<void> {
    const { scheduler, weather } = this;
    const { random } = scheduler;
    while (this.isOpen) {
      const isBad = random.chance(0.7);
      const level = (most: number): number => (isBad && random.chance(0.6) ? random.next() * most : 0);
      weather.refused = level(0.15);
      weather.lost = level(0.1);
      weather.dropped = level(0.05);
      weather.overdue = level(0.05);
      weather.slow = level(0.05);
      await scheduler.sleep(500 + random.integer(8_000));
      if (random.chance(0.5)) await this.#strike(random.pick(this.processes));
    }
  }

  /** Ends all trouble: good weather, right clocks, all processes running. */
  async heal(): Promise<void> {
    Object.assign(this.weather, calm);
    for (const process of this.processes) {
      process.skewMs = 0;
      if (!process.isRunning) await process.start();
      while (!process.hasStarted) await this.scheduler.sleep(1_000);
    }
  }

  async #strike(process: SimulatedProcess): Promise<void> {
    const { scheduler, counters } = this;
    const { random } = scheduler;
    if (process.isRunning) {
      process.die();
      // No process serves with a clock that is further off than 30 s, but it works in the background.
      const isFar = random.chance(0.2);
      process.skewMs = random.pick(
        isFar ? [120_000, -120_000, 4_000_000, -4_000_000] : [0, 0, 900, 28_000, -28_000],
      );
      if (process.skewMs !== 0) count(counters, isFar ? "fault:wrong clock" : "fault:clock");
      // Another process may take over before it is back.
      const away = random.integer(20_000);
      scheduler.after(away, `${process.name} returns`, () => {
        if (!process.isRunning) process.start().catch(error => this.fault(`cannot start: ${error}`));
      });
    }
    await scheduler.sleep(0);
  }

  /** The model of a tenant. */
  of(tenant: Tenant): TenantModel {
    const found = this.tenants.find(model => model.tenant === tenant);
    if (found === undefined) throw new Error(`There is no tenant ${tenant.name}`);
    return found;
  }
}
