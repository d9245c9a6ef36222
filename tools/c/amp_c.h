/* Automatic mixed precision for ONNX models: the C interface, for other languages and for programs that embed it. C11.
 *
 *   AmpContext* context = amp_context_new();
 *   AmpBytes mixed;
 *   const char* summary;
 *   if (amp_rewrite(context, model, "{\"dtype\": \"float16\", \"deny\": [\"Softmax\"]}", &mixed, &summary) != AMP_OK)
 *     fprintf(stderr, "%s\n", amp_error(context));
 *   amp_context_free(context);
 *
 * Every function that can fail takes a context and returns a code. amp_error then has one line, as the programs print
 * it. What a function gives (texts, bytes) belongs to the context, and lives until amp_context_clear or
 * amp_context_free; sessions, trainers and values have functions of their own that free them, which take NULL, too. A
 * context is for one thread at a time; a session may run in several threads, each with its own context; a trainer is
 * for one thread at a time.
 *
 * Options are JSON objects: {"deny": ["Softmax"], "keep_io": "none", "train": true}. The names are those of the flags
 * of the programs, with _ for -; amp_options_schema lists them. A list stands for a flag that is repeated, an object for
 * one of the form NAME=VALUE, true for a flag without a value, null for the default. false stands for a flag that is not
 * there; "finite_check": false is --no-finite-check, "verify": false is --verify=off, "scale_weights": false is
 * --scale-weights=never. "loss_scale_function" is a serialized FunctionProto in base 64. NULL stands for {}. Texts are
 * UTF-8. Reports are JSON of the fields that passes/README.md lists.
 *
 * Names begin with amp_, Amp or AMP_. Functions may be added; AMP_ABI changes where anything else does.
 *
 * The library of a build shares the system's protobuf, which refuses a second copy of ONNX's messages in one process. A
 * host that has these itself takes the library of the wheel (tools/python), which has all that it needs inside, hidden. */
#ifndef AMP_TOOLS_C_AMP_C_H_
#define AMP_TOOLS_C_AMP_C_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AMP_ABI 1

#if defined(_WIN32)
#define AMP_API
#else
#define AMP_API __attribute__((visibility("default")))
#endif

/* The exit codes of the programs. */
typedef enum AmpCode {
  AMP_OK = 0,
  AMP_OPTION = 2,      /* an option, an argument or a list file; inputs that do not fit a model */
  AMP_MODEL = 3,       /* a malformed or unsupported model */
  AMP_REFUSED = 4,     /* by a safety rule */
  AMP_LIMIT = 5,       /* a limit, or no memory left */
  AMP_IO = 6,          /* input or output failed */
  AMP_DIFFERS = 7,     /* verifying found a difference */
  AMP_DEVICE = 8,      /* the device, its driver or a library of it is not there, or failed */
  AMP_INTERNAL = 70,   /* a defect of this library */
  AMP_CANCELLED = 130, /* by a callback */
} AmpCode;

typedef struct AmpContext AmpContext;
typedef struct AmpSession AmpSession;
typedef struct AmpTrainer AmpTrainer;
typedef struct AmpValue AmpValue;
typedef struct AmpReport AmpReport;

typedef struct AmpBytes {
  const void* data;
  size_t size;
} AmpBytes;

/* A tensor in memory of the caller's, or a view of a value. */
typedef struct AmpTensor {
  const void* data;       /* elements; of strings, AmpBytes each. bool, and types of 8 bits and less: a byte each */
  const int64_t* shape;   /* `rank` numbers; may be NULL for rank 0 */
  const int64_t* strides; /* `rank` numbers, in bytes; NULL: the elements lie in C order without gaps */
  int32_t dtype;          /* of ONNX's TensorProto.DataType: 1 float32, 10 float16, 16 bfloat16, 7 int64, 8 string */
  int32_t rank;
} AmpTensor;

typedef enum AmpKind {
  AMP_NOTHING = 0, /* an empty optional */
  AMP_TENSOR = 1,
  AMP_SEQUENCE = 2,
  AMP_MAP = 3,
  AMP_PLACED = 4, /* a tensor, in a place of the caller's */
} AmpKind;

/* An input of a run. The elements of a tensor are not copied where they lie in C order, aligned to their size, and must
 * not change before the call returns. */
typedef struct AmpInput {
  const char* name;
  AmpTensor tensor;
  const AmpValue* value; /* if not NULL, this rather than the tensor */
} AmpInput;

/* An output of a run. The caller says the name, NULL for the one at this place in the model. Where `tensor.data` is not
 * NULL, it is a place for a tensor of `tensor`'s type and shape, in C order: an output of just these is copied there, the
 * kind is AMP_PLACED, and `value` is NULL. Otherwise the call sets `value` and `tensor`. One that an earlier call has set
 * is to be cleared first: its view would be such a place. */
typedef struct AmpOutput {
  const char* name;
  AmpValue* value;  /* to be freed by amp_value_free */
  AmpTensor tensor; /* a view of `value`, where it is a tensor: in C order, as long as the value lives */
  int32_t kind;     /* an AmpKind */
} AmpOutput;

/* ---- the library, contexts */
AMP_API int amp_abi(void); /* AMP_ABI of the library that was loaded */
AMP_API const char* amp_version(void);
/* The value of GOMP_SPINCOUNT with which threads of libgomp that wait sleep soon, as they do in the programs: "4000", or
 * "100" while the machine is busy. A host may set it before it loads a libgomp of its own. */
AMP_API const char* amp_spin_count(void);
AMP_API AmpContext* amp_context_new(void); /* NULL: no memory left */
AMP_API void amp_context_free(AmpContext* context);
AMP_API void amp_context_clear(AmpContext* context);      /* frees what its functions gave */
AMP_API const char* amp_error(const AmpContext* context); /* of the last function that failed; else "" */
/* Where a rewrite is: "load", a stage, "calibrate", "verify", "mend" or "write". `done` of `total` are bytes or runs; 0 of
 * 0 at the end of a step. */
typedef struct AmpProgress {
  void* user;
  const char* step;
  int64_t done, total;
} AmpProgress;
/* `call` is called on the caller's thread. It returns 0 to go on, else the call ends with AMP_CANCELLED and no file
 * changes. NULL: none. */
AMP_API void amp_set_progress(AmpContext* context, int (*call)(const AmpProgress* progress), void* user);
/* `call` is asked on the caller's thread, at most about 50 times a second, between steps of a rewrite and between nodes
 * of a run. It returns 0 to go on, else the call ends with AMP_CANCELLED and no file changes. NULL: none. */
AMP_API void amp_set_cancel(AmpContext* context, int (*call)(void* user), void* user);
/* What a rewrite of a file has come to, before any file is replaced. */
typedef struct AmpDecision {
  void* user;
  const char* summary; /* as amp_rewrite_file gives it */
  AmpReport* report;   /* the callee's, to be freed */
} AmpDecision;
/* `call` is called by amp_rewrite_file when all is decided and written under temporary names, in a dry run too. It
 * returns 0 to go on, else the call ends with AMP_CANCELLED and no file changes. NULL: none. */
AMP_API void amp_set_before_replacing(AmpContext* context, int (*call)(const AmpDecision* decision), void* user);
/* A model that a search asks for the caller's own number of. */
typedef struct AmpMetric {
  void* user;
  const char* model; /* the path of its file, which may be gone after the call */
  double value;      /* to be set: the larger the better */
} AmpMetric;
/* `call` judges models for rewrites with "search", which keep its number within "max_drop" of the original's, in eight
 * calls, or "budget_runs", at most, on the caller's thread. It returns 0 to go on, else the call ends with AMP_CANCELLED
 * and no file changes. NULL: none. */
AMP_API void amp_set_metric(AmpContext* context, int (*call)(AmpMetric* metric), void* user);
/* For hosts that are about to end: calls in other threads end with AMP_CANCELLED, as do later ones, no callback is called
 * any more, and this waits for them, but not for ever. */
AMP_API void amp_end(void);
/* `of`: "rewrite" or "session". A list of objects: name, flag, group, help, type (of the value, as --help shows it),
 * form ("switch", "value", "optional value"), repeats, number ("", "integer", "real"). */
AMP_API AmpCode amp_options_schema(AmpContext* context, const char* of, const char** json);

/* ---- rewriting. `summary` may be NULL: an object with changed, line, unchanged_because, verification, compatibility,
 * policy_dtypes, warnings, advice; diff and stages where options ask for them. `report` may be NULL: to be freed. */
AMP_API AmpCode amp_rewrite(AmpContext* context, AmpBytes model, const char* options, AmpBytes* rewritten,
                            const char** summary, AmpReport** report);
/* Streams external data. `output` may be NULL with "dry_run": true or "in_place": true. The report has no histograms of
 * weights, for which they would be read once more: the page that "report" names has them. */
AMP_API AmpCode amp_rewrite_file(AmpContext* context, const char* input, const char* output, const char* options,
                                 const char** summary, AmpReport** report);
/* The report as JSON; as the page that `--report FILE.html` writes; as the table that `amp-rewrite --explain` prints, with
 * `float32_only` as --explain=float32. */
AMP_API AmpCode amp_report_json(AmpContext* context, const AmpReport* report, const char** json);
AMP_API AmpCode amp_report_html(AmpContext* context, const AmpReport* report, const char** html);
AMP_API AmpCode amp_report_text(AmpContext* context, const AmpReport* report, int float32_only, const char** text);
AMP_API void amp_report_free(AmpReport* report);
/* Writes a model in memory to a file, atomically. `input`: the file that it was made from, which is not replaced; may be
 * NULL. `force`: replaces a file of another kind, too. */
AMP_API AmpCode amp_save_model(AmpContext* context, AmpBytes model, const char* path, const char* input, int force);
/* The lists in force, as a list file; the profiles, a line each. */
AMP_API AmpCode amp_print_lists(AmpContext* context, const char* options, const char** text);
AMP_API AmpCode amp_list_profiles(AmpContext* context, const char** text);
/* {"compute_dtype": "float16", "variable_dtype": "float32"} of a policy, as Keras names it. */
AMP_API AmpCode amp_policy(AmpContext* context, const char* name, const char** json);
/* Whether this machine is fast with a type: "float16", "bfloat16", or "auto". The lines that the programs print. */
AMP_API AmpCode amp_check_compatibility(AmpContext* context, const char* dtype, const char** text);
/* A fresh forward model: arguments as of `amp-train new`: "mlp", "784-64-10", "{\"seed\": 1}". */
AMP_API AmpCode amp_new_model(AmpContext* context, const char* kind, const char* layers, const char* options,
                              AmpBytes* model);

/* ---- values */
/* Copies the elements. */
AMP_API AmpCode amp_value_of_tensor(AmpContext* context, const AmpTensor* tensor, AmpValue** value);
/* Of `size` elements, which stay the caller's; nested at most 64 deep. A map has keys, a tensor of integers or strings,
 * and values. */
AMP_API AmpCode amp_value_of_sequence(AmpContext* context, const AmpValue* const* elements, size_t size,
                                      AmpValue** value);
AMP_API AmpCode amp_value_of_map(AmpContext* context, const AmpValue* keys, const AmpValue* values, AmpValue** value);
AMP_API AmpCode amp_value_of_nothing(AmpContext* context, AmpValue** value); /* an empty optional */
AMP_API AmpKind amp_value_kind(const AmpValue* value); /* AMP_NOTHING for NULL: an empty optional */
/* A view, as long as the value lives. */
AMP_API AmpCode amp_value_tensor(AmpContext* context, const AmpValue* value, AmpTensor* tensor);
AMP_API size_t amp_value_size(const AmpValue* value); /* of a sequence; else 0 */
/* The element of a sequence at `at`; of a map its keys (0) and values (1). To be freed. */
AMP_API AmpCode amp_value_element(AmpContext* context, const AmpValue* value, size_t at, AmpValue** element);
AMP_API void amp_value_free(AmpValue* value);

/* ---- running */
AMP_API AmpCode amp_session_new(AmpContext* context, AmpBytes model, const char* options, AmpSession** session);
AMP_API AmpCode amp_session_new_file(AmpContext* context, const char* path, const char* options, AmpSession** session);
AMP_API void amp_session_free(AmpSession* session);
/* {"device", "inputs": [{"name", "kind", "dtype", "shape": [4, "batch", null]}], "outputs": [...]} */
AMP_API AmpCode amp_session_describe(AmpContext* context, const AmpSession* session, const char** json);
/* All of `inputs` that the model reads; the outputs that are named. On failure no output is set. */
AMP_API AmpCode amp_session_run(AmpContext* context, const AmpSession* session, const AmpInput* inputs,
                                size_t num_inputs, AmpOutput* outputs, size_t num_outputs);
/* Made-up inputs of sizes that the model takes: {"seed": 0, "dims": {"batch": 8}}. `outputs` has as many as the session
 * has inputs, and gets them, in that order. */
AMP_API AmpCode amp_session_random_inputs(AmpContext* context, const AmpSession* session, const char* options,
                                          AmpOutput* outputs, size_t num_outputs);
/* How far apart the outputs of two models are on the same inputs, as `amp-run --compare --json` prints it.
 * {"tolerance": 0.01}. Outputs that differ by more are no failure: "agree" is false, and "difference" says which. */
AMP_API AmpCode amp_compare(AmpContext* context, const AmpSession* model, const AmpSession* other,
                            const AmpInput* inputs, size_t num_inputs, const char* options, const char** json);

/* ---- training: a step graph, which amp_rewrite makes with "train": true */
AMP_API AmpCode amp_trainer_new(AmpContext* context, AmpBytes step, const char* options, AmpTrainer** trainer);
AMP_API AmpCode amp_trainer_new_file(AmpContext* context, const char* path, const char* options, AmpTrainer** trainer);
AMP_API void amp_trainer_free(AmpTrainer* trainer);
typedef struct AmpStep {
  float loss;       /* mean of the batch, not scaled */
  float loss_scale; /* for the next step; 1 without one */
  int32_t finite;   /* 0: a gradient had an infinity or NaN, and the step was skipped */
  AmpOutput logits; /* or the prediction; AMP_NOTHING where the loss is the model's own */
} AmpStep;
AMP_API AmpCode amp_trainer_step(AmpContext* context, AmpTrainer* trainer, const AmpInput* inputs, size_t num_inputs,
                                 AmpStep* step);
AMP_API int64_t amp_trainer_num_steps(const AmpTrainer* trainer);
AMP_API float amp_trainer_learning_rate(const AmpTrainer* trainer);
AMP_API void amp_trainer_set_learning_rate(AmpTrainer* trainer, float rate);
/* {"inputs": as of a session, without states, "states": [names]} */
AMP_API AmpCode amp_trainer_describe(AmpContext* context, const AmpTrainer* trainer, const char** json);
AMP_API AmpCode amp_trainer_state(AmpContext* context, const AmpTrainer* trainer, const char* name, AmpOutput* state);
AMP_API AmpCode amp_trainer_set_state(AmpContext* context, AmpTrainer* trainer, const AmpInput* state);
/* AMP_FORCE replaces files of another kind, too. AMP_ALLOW_NAN writes states that have NaN or infinities, which is
 * AMP_REFUSED otherwise. */
typedef enum AmpSaving { AMP_FORCE = 1, AMP_ALLOW_NAN = 2 } AmpSaving;
/* `forward` may be NULL: the step graph's part up to the logits. `flags`: of AmpSaving. */
AMP_API AmpCode amp_trainer_save_weights(AmpContext* context, const AmpTrainer* trainer, const char* path,
                                         const char* forward, int flags);
AMP_API AmpCode amp_trainer_save_checkpoint(AmpContext* context, const AmpTrainer* trainer, const char* path,
                                            const char* note, int flags);
AMP_API AmpCode amp_trainer_load_checkpoint(AmpContext* context, AmpTrainer* trainer, const char* path,
                                            const char** note);
AMP_API AmpCode amp_trainer_forward(AmpContext* context, const AmpTrainer* trainer, const char* forward,
                                    AmpSession** session);

#ifdef __cplusplus
}
#endif

#endif /* AMP_TOOLS_C_AMP_C_H_ */
