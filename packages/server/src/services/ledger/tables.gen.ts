// Made by `npm run gen` from the migrated database.
import type { Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "ledger.holds": {
      organization_id: string
      reference: string
      credit_micros: number
      overage_micros: number
      owed_micros: number
      description: string
      expires_at: Date
    }
    "ledger.lots": {
      organization_id: string
      id: string
      kind: string
      amount_micros: number
      left_micros: number
      expires_at: Date | null
      created_at: Date
    }
    "ledger.transfers": {
      organization_id: string
      sequence: number
      id: string
      type: string
      debit_account: string
      credit_account: string
      amount_micros: number
      balance_after_micros: number
      reference: string
      description: string
      expires_at: Date | null
      created_at: Date
    }
    "ledger.wallets": {
      organization_id: string
      cash_micros: Generated<number>
      grants_micros: Generated<number>
      credit_micros: Generated<number>
      overage_micros: Generated<number>
      revenue_micros: Generated<number>
      expired_micros: Generated<number>
      held_micros: Generated<number>
      held_overage_micros: Generated<number>
      overage_limit_micros: number | null
      cap_micros: number | null
      cap_action: Generated<string>
      month: string
      month_micros: Generated<number>
      next_expiry_at: Date | null
      sequence: Generated<number>
      updated_at: Date
    }
  }
}
