// Made by `npm run gen` from the migrated database.
import type { ColumnType, Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "lb.backends": {
      id: string
      project_id: string
      load_balancer_id: string
      address: string
      port: number
      protocol: string
      weight: number
      max_connections: number
      enabled: boolean
      created_at: Date
      updated_at: Date
    }
    "lb.load_balancers": {
      id: string
      organization_id: string
      project_id: string
      name: string
      host_id: string
      algorithm: string
      listen_port: number | null
      hostnames: string[]
      health_check: ColumnType<unknown, string>
      sticky_sessions: ColumnType<unknown, string>
      idle_timeout_seconds: number
      drain_seconds: number
      created_at: Date
      updated_at: Date
      waf_enabled: Generated<boolean>
      waf_mode: Generated<string>
    }
  }
}
