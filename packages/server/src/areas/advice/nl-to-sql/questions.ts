/** Questions to statements for callers of the API: by the SQL area's own checks, and with its faults. */
import {
  createTranslator,
  type LanguageModel,
  RUN_TIMEOUT_MS,
  type TranslateRequest,
  type Translation,
  TranslationError,
} from "@svc/text-to-sql"
import { type Fault, fault, isFault } from "../../../kernel/fault.ts"
import type { Guard } from "../../sql/guard.ts"
import { converterOf, createTypeCatalog } from "../../sql/pg-types.ts"

export interface Question extends Omit<TranslateRequest, "resultTypes"> {
  /** Runs the statement too. */
  readonly execute?: boolean
  /** What the database's own types are remembered by. */
  readonly volumeId: string
}

export interface Questions {
  /**
   * Throws `question_not_understood` when neither the rules nor a model can answer, `question_not_read_only` when the
   * question asks to change data, `service_unavailable` when the model cannot be reached, `upstream_error` when its
   * server misbehaves, and `query_timeout` when the statement was to be run and took too long.
   */
  translate(question: Question): Promise<Translation>
}

const NOT_AGAIN = { headers: { "x-should-retry": "false" } }

const faultOf = ({ code, message, cause }: TranslationError): Fault => {
  switch (code) {
    case "not_understood":
      return fault("question_not_understood", { reason: message }, NOT_AGAIN)
    case "not_read_only":
      return fault("question_not_read_only", {}, NOT_AGAIN)
    case "run_timed_out":
      return fault("query_timeout", { seconds: RUN_TIMEOUT_MS / 1000 })
    case "model_unavailable":
      return fault("service_unavailable", { reason: message }, { internal: cause })
    case "model_failed":
      return fault("upstream_error", { reason: message }, { internal: cause })
  }
}

export const createQuestions = (needs: {
  readonly guard: Guard
  readonly upstream?: LanguageModel | undefined
  readonly limitMs?: number
}): Questions => {
  const { guard, ...translating } = needs
  const types = createTypeCatalog()

  const checkReadOnly = async (sql: string): Promise<string | undefined> => {
    try {
      await guard.check(sql, "request")
    } catch (error) {
      if (isFault(error, "invalid_sql")) return error.message
      throw error
    }
    return undefined
  }
  const translator = createTranslator({ ...translating, checkReadOnly })

  const resultTypesOf = (volumeId: string): TranslateRequest["resultTypes"] => ({
    async read(client, oids) {
      await types.load(volumeId, client, oids)
      const known = types.of(volumeId)
      return oid => ({ name: known.get(oid).name, toJson: converterOf(known, oid) })
    },
  })

  return {
    async translate({ execute, volumeId, ...request }) {
      try {
        const resultTypes = execute ? resultTypesOf(volumeId) : undefined
        return await translator.translate({ ...request, resultTypes })
      } catch (error) {
        throw error instanceof TranslationError ? faultOf(error) : error
      }
    },
  }
}
