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
import type { StatementReader } from "../../sql/offers.ts"

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
  readonly statements: StatementReader
  readonly upstream?: LanguageModel | undefined
  readonly limitMs?: number
}): Questions => {
  const { statements, ...translating } = needs

  const checkReadOnly = async (sql: string): Promise<string | undefined> => {
    try {
      await statements.checkReadOnly(sql)
    } catch (error) {
      if (isFault(error, "invalid_sql")) return error.message
      throw error
    }
    return undefined
  }
  const translator = createTranslator({ ...translating, checkReadOnly })

  return {
    async translate({ execute, volumeId, ...request }) {
      try {
        const resultTypes = execute ? statements.resultTypesOf(volumeId) : undefined
        return await translator.translate({ ...request, resultTypes })
      } catch (error) {
        throw error instanceof TranslationError ? faultOf(error) : error
      }
    },
  }
}
