// Made by `npm run gen` from the migrated database.
export {}

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "waf.counters": {
      project_id: string
      slot: Date
      name: string
      subject: string
      count: number
    }
    "waf.events": {
      id: string
      project_id: string
      load_balancer_id: string
      created_at: Date
      source: string
      action: string
      rule_id: string | null
      rule_name: string | null
      client_ip: string
      method: string
      host: string
      path: string
      matched_target: string
      matched_value: string
      request_id: string
    }
    "waf.rules": {
      id: string
      project_id: string
      name: string
      pattern: string
      match: string
      targets: string[]
      action: string
      priority: number
      enabled: boolean
      load_balancer_id: string | null
      created_at: Date
      updated_at: Date
    }
  }
}
