// Made by `npm run gen` from the migrated database.
import type { Generated } from "kysely"

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "billing.agreements": {
      organization_id: string
      module: string
      status: string
      terms_version: string
      accepted_at: Date
      accepted_by: string
      disabled_at: Date | null
      autodebit_since: Date | null
    }
    "billing.charged": {
      organization_id: string
      month: string
      metric: string
      cost_micros: number
    }
    "billing.feedback": {
      id: string
      organization_id: string
      reason: string
      comment: string
      would_return: boolean | null
      created_at: Date
    }
    "billing.invoices": {
      organization_id: string
      id: string
      number: string
      status: string
      currency: string
      subtotal_micros: number
      credits_applied_micros: Generated<number>
      tax_micros: Generated<number>
      total_micros: number
      amount_paid_micros: Generated<number>
      period_start: Date
      period_end: Date
      issued_at: Date
      due_at: Date
      paid_at: Date | null
      attempt_count: Generated<number>
      next_retry_at: Date | null
      lines: string
      seller: string
      buyer: string
      plan: string | null
      plan_interval: string | null
    }
    "billing.payments": {
      id: string
      organization_id: string
      purpose: string
      plan: string | null
      plan_interval: string | null
      provider: string
      status: string
      amount_micros: number
      currency: string
      email: string | null
      success_url: string | null
      cancel_url: string | null
      invoice_id: string | null
      created_at: Date
      expires_at: Date
      completed_at: Date | null
      confirmed_by: string | null
    }
    "billing.series": {
      name: string
      last: number
    }
    "billing.subscriptions": {
      organization_id: string
      plan: string
      plan_interval: string
      status: string
      period_start: Date
      period_end: Date
      cancel_at_period_end: Generated<boolean>
      invoice_id: string | null
    }
  }
}
