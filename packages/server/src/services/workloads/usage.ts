/** What running workloads use: for bills, and for those who look. */

import type { BackgroundMeters } from "../../core/meters/meters.ts"
import type { Clock } from "../../kernel/clock.ts"
import { every, type FailureLog } from "../../kernel/every.ts"
import { diskBytesOf, type RuntimePort } from "../../ports/runtime/port.ts"
import { GB } from "./shape.ts"
import type { Live, Workload } from "./workload.ts"

const MS_PER_HOUR = 3_600_000

/** Counts the time from one moment to another of a workload that ran all the while. */
export const meterTime = (
  meters: BackgroundMeters,
  { organizationId, projectId, spec }: Workload,
  fromMs: number,
  toMs: number,
): void => {
  if (toMs <= fromMs) return
  const seconds = (toMs - fromMs) / 1000
  const at = new Date(toMs)
  const of = { organizationId, projectId, at }
  meters.count({ ...of, metric: "compute_hours", quantity: seconds / 3600 })
  meters.count({ ...of, metric: "workload_vcpu_seconds", quantity: spec.vcpus * seconds })
  meters.count({ ...of, metric: "workload_memory_gb_seconds", quantity: (spec.memoryBytes / GB) * seconds })
  // What has a disk that stays is counted whether it runs or not.
  if (spec.disk.kind !== "persistent")
    meters.count({
      ...of,
      metric: "workload_disk_gb_hours",
      quantity: (spec.disk.bytes / GB) * (seconds / 3600),
    })
}

export interface DisksOfOwner {
  readonly organization_id: string
  readonly project_id: string | null
  /** Together. */
  readonly disk_gb: number
}

const DISKS_EVERY_MS = 300_000

/** Counts disks that stay, of workloads that run and of those that do not. */
export const meterDisks = (needs: {
  readonly clock: Clock
  readonly meters: BackgroundMeters
  readonly read: () => Promise<readonly DisksOfOwner[]>
  readonly failures: FailureLog
}): AsyncDisposable => {
  const { clock, meters } = needs
  let lastMs = clock.now()
  const count = async () => {
    const disks = await needs.read()
    const nowMs = clock.now()
    const hours = (nowMs - lastMs) / MS_PER_HOUR
    lastMs = nowMs
    for (const { organization_id: organizationId, project_id: projectId, disk_gb } of disks) {
      const quantity = disk_gb * hours
      meters.count({
        organizationId,
        projectId,
        metric: "workload_disk_gb_hours",
        quantity,
        at: new Date(nowMs),
      })
    }
  }
  return every(clock, DISKS_EVERY_MS, count, needs.failures)
}

/** What a running workload uses now; its processor time as a share of the time since the last reading. */
export const readMetrics = async <Item extends Workload>(
  runtime: RuntimePort,
  live: Live<Item>,
  now: Date,
) => {
  const { spec } = live.item
  const stats = await runtime.stats(spec.id)
  const before = live.reading
  live.reading = { cpuMs: stats.cpuMs, atMs: now.getTime() }
  const possibleMs = Math.max(1, now.getTime() - before.atMs) * spec.vcpus
  const share = Math.max(0, stats.cpuMs - before.cpuMs) / possibleMs
  return {
    timestamp: now.toISOString(),
    cpu_count: spec.vcpus,
    cpu_used_percent: Math.round(share * 10_000) / 100,
    memory_used_bytes: stats.memoryBytes,
    memory_peak_bytes: stats.memoryPeakBytes,
    memory_total_bytes: spec.memoryBytes,
    disk_used_bytes: stats.diskBytes,
    disk_total_bytes: diskBytesOf(runtime.capabilities, spec),
    processes: stats.processes,
    network_received_bytes: stats.network?.receivedBytes ?? null,
    network_sent_bytes: stats.network?.sentBytes ?? null,
  }
}
