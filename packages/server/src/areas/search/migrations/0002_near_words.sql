-- Tolerance of typing errors takes an extension that not every database lets its owner create. Called here and at each
-- start; true once search.near_words is there.
CREATE FUNCTION search.enable_near_words() RETURNS boolean LANGUAGE plpgsql AS $enable$
DECLARE
  v_schema text;
  v_project text := '';
BEGIN
  IF to_regprocedure('search.near_words(uuid, text, integer)') IS NOT NULL THEN RETURN true; END IF;
  CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA search;
  SELECT n.nspname INTO v_schema FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'pg_trgm';
  BEGIN
    CREATE EXTENSION IF NOT EXISTS btree_gin WITH SCHEMA search;
    -- Words of other projects are then passed over in the index.
    v_project := 'project_id, ';
  EXCEPTION WHEN OTHERS THEN NULL;
  END;
  EXECUTE format('CREATE INDEX words_near ON search.words USING gin (%sword %I.gin_trgm_ops)', v_project, v_schema);
  EXECUTE format($create$
    CREATE FUNCTION search.near_words(p_project uuid, p_word text, p_limit integer) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SET pg_trgm.similarity_threshold = 0.2 AS $body$
    BEGIN
      RETURN QUERY SELECT w.word FROM search.words w
      WHERE w.project_id = p_project AND w.word OPERATOR(%1$I.%%) p_word
        AND length(w.word) BETWEEN length(p_word) - 2 AND length(p_word) + 2
      ORDER BY %1$I.similarity(w.word, p_word) DESC, w.documents DESC, w.word LIMIT p_limit;
    END $body$
  $create$, v_schema);
  RETURN true;
EXCEPTION WHEN OTHERS THEN
  RAISE LOG 'search goes without tolerance of typing errors: %', SQLERRM;
  RETURN false;
END $enable$;

SELECT search.enable_near_words();
