#include "tools/library/foreign_words.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/library/rewrite_flags.h"

namespace amp {
namespace {

// Names of a flag in other tools, in lower case without "-" and "_", and what to write in each program. nullptr:
// nothing is known, or the program has the flag.
struct ForeignFlag {
  const char* names;
  const char* rewrite;
  const char* run;
  const char* train;
};

constexpr char kTypesAreTheModels[] =
    "a model runs in the types that it has; amp-rewrite MODEL -o OUT.onnx --dtype float16|bfloat16 changes them";
constexpr char kTypesAreTheSteps[] =
    "a step has the types that amp-rewrite --train --policy mixed_float16|mixed_bfloat16 gave it";
constexpr char kStepHasIt[] = "amp-rewrite --train makes the step with it: it is a flag there";
constexpr char kNoFusing[] =
    "no flag is needed: nodes are fused as the model runs, and amp-rewrite folds norms by itself";
constexpr char kModelAlone[] = "write MODEL without a flag";
constexpr char kNoShapes[] = "input shapes stay as they are; with --verify, write --dim NAME=N";
constexpr char kReplaces[] =
    "an earlier result is replaced without a flag; write --force to replace files of another kind";
constexpr char kDims[] = "write --dim NAME=N, or --dim INPUT:AXIS=N, with --random-inputs";

// The flags of onnxconverter-common, ONNX Runtime's tools and optimizer, Olive, NVIDIA's AutoCast, trtexec, Polygraphy,
// onnxsim, Keras and PyTorch.
constexpr ForeignFlag kForeignFlags[] = {
    {"fp16 half float16 usefp16 tofp16 fptofp16 converttofp16 fp16quantize float16mode",
     "write --dtype float16, the default", kTypesAreTheModels, kTypesAreTheSteps},
    {"bf16 bfloat16 usebf16 tobf16 bf16quantize", "write --dtype bfloat16", kTypesAreTheModels, kTypesAreTheSteps},
    {"lowprecisiontype t precision datatype type lowtype outputtype", "write --dtype float16|bfloat16",
     kTypesAreTheModels, kTypesAreTheSteps},
    {"mixedprecision mixed amp autocast automixedprecision best",
     "no flag is needed: mixed precision is what a rewrite makes; --policy has Keras' names", kTypesAreTheModels,
     kTypesAreTheSteps},
    {"fp32 float32", "write --policy float32 to take a rewrite back", kTypesAreTheModels, kTypesAreTheSteps},
    {"int8 fp8 int4 uint8 quantize quantise", "quantisation is no part of this program", kTypesAreTheModels,
     kTypesAreTheSteps},
    {"keepiotypes keepio keepinputoutputtypes iotypes inputioformats outputioformats",
     "write --keep-io all (the default), none or NAME[,NAME...]", nullptr, nullptr},
    {"forcefp16inputs", "write --allow OP, or --allow-node GLOB", nullptr, nullptr},
    {"opblocklist optypestoexclude ope blacklist blocklist denylist exclude excludeops excludeoptypes opstoexclude "
     "denyop denyops fp32ops",
     "write --deny OP[,OP...], which adds to the lists", nullptr, nullptr},
    {"nodeblocklist nodestoexclude ne excludenodes denynodes nodedenylist fp32nodes fp32node",
     "write --deny-node GLOB, once for each", nullptr, nullptr},
    {"opincludelist optypestoinclude opi whitelist allowlist includeops", "write --allow OP[,OP...]", nullptr, nullptr},
    {"nodeincludelist nodestoinclude ni includenodes allownodes", "write --allow-node GLOB, once for each", nullptr,
     nullptr},
    {"layerprecisions precisionconstraints layeroutputtypes trtpluginsprecision",
     "write --allow-node GLOB and --deny-node GLOB", kTypesAreTheModels, nullptr},
    {"onnxpath onnx model inputmodel modelpath i m", kModelAlone, kModelAlone, "write STEP.onnx without a flag"},
    {"input inputpath", kModelAlone, nullptr, "write --data NAME=FILE, once for each"},
    {"inputs", kModelAlone, nullptr, "write --data NAME=FILE, once for each"},
    {"outputpath outputmodel out outputfile saveengine savemodel modelout", "write -o OUT.onnx",
     "write --outputs FILE.npz", "write --save-weights OUT.onnx"},
    {"output o", nullptr, "write --outputs FILE.npz", "write --save-weights OUT.onnx"},
    {"calibrationdata calibdata d calib calibrationdataset calibrationdatapath calibrationcache inputfeed feeddict "
     "inputdata",
     "write --calibration FILE.npz", "write --inputs FILE.npz", "write --data NAME=FILE, once for each"},
    {"data", "write --calibration FILE.npz, or --verify=FILE.npz", "write --inputs FILE.npz, or --input NAME=FILE",
     nullptr},
    {"datamax maxfinitevalue maxfiniteval",
     "no threshold is needed: --calibration FILE.npz keeps float32 what leaves the low type's range", nullptr, nullptr},
    {"initmax minpositivevalue minpositiveval", "write --max-weight-error X, how much of a weight may be lost", nullptr,
     nullptr},
    {"initconversionmaxbytes", "write --weights cast, which leaves them float32 in the file", nullptr, nullptr},
    {"maxdepthofreduction", "no flag is needed: the guard 'long reductions' looks at that (--guards)", nullptr,
     nullptr},
    {"providers provider executionprovider executionproviders ep",
     "write --target, as in --target cuda:8.0, for what the model shall be fast on", "write --device cpu|cuda|auto",
     "write --device cpu|cuda|auto"},
    {"usegpu gpu cuda usecuda trt tensorrt", "write --target cuda:CC, as in --target cuda:8.0", "write --device cuda",
     "write --device cuda"},
    {"gpuid deviceid gpus", "write --target cuda:CC, as in --target cuda:8.0", "write --device cuda:N",
     "write --device cuda:N"},
    {"device", "write --target, as in --target cuda:8.0, for what the model shall be fast on", nullptr, nullptr},
    {"target", nullptr, "write --device cpu|cuda|auto", "write --device cpu|cuda|auto"},
    {"cpu", "write --target cpu:avx512 or the like", "write --device cpu, the default",
     "write --device cpu, the default"},
    {"trtplugins plugins staticplugins customop customops", "write --op-signature SIGNATURE",
     "operators of your own cannot be loaded", nullptr},
    {"usestandalonetypeinference disableshapeinfer disableshapeinference usesymbolicshapeinfer",
     "no flag is needed: types and shapes are always inferred", nullptr, nullptr},
    {"loglevel logseverity logseveritylevel debug", "write -v for more, -q for less", "write -v for more, -q for less",
     "write -v for more, -q for less"},
    {"checkfp16ready validatefn customizedvalidatefunc validate check checkn numericcheck",
     "write --verify, or --verify=FILE.npz", "write --compare OTHER.onnx", nullptr},
    {"rtol atol tol reltol abstol", "write --tolerance X with --verify", "write --tolerance X with --compare", nullptr},
    {"useexternaldataformat externaldataformat saveasexternaldata alltensorstoonefile location externaldatalocation",
     "write --external-data always", nullptr, nullptr},
    {"nolargetensor", "write --external-data auto|always|never", nullptr, nullptr},
    {"forcefp16initializers", "no flag is needed: weights are stored low unless --weights cast", nullptr, nullptr},
    {"usebfloat16asblockednodesdtype", "a model has one low type; what is denied stays float32", nullptr, nullptr},
    {"overwriteinputshape inputshape inputshapes testinputshape dynamicinputshape dynamicbatch", kNoShapes, kDims,
     "write --batch N"},
    {"shape shapes minshapes optshapes maxshapes", kNoShapes, kDims, nullptr},
    {"skipfusebn nofusebn skipbnfusion", "write --keep-batch-norm", "write --no-fuse=batch-norm", nullptr},
    {"skipoptimization skipoptimizations skipconstantfolding disableoptimization",
     "write --keep-batch-norm and --keep-decomposed", "write --no-fuse", nullptr},
    {"modeltype numheads hiddensize optlevel optimizationlevel optimizationoptions onlyonnxruntime optimize optimise "
     "simplify "
     "graphoptimizationlevel",
     kNoFusing, kNoFusing, nullptr},
    {"overwrite inplace y yes f",
     "an earlier OUT.onnx is replaced without a flag; write --force to replace files of another kind, --in-place to "
     "replace MODEL",
     nullptr, nullptr},
    {"overwrite yes f", nullptr, kReplaces, kReplaces},

    {"batch batchsize b bs", "the batch stays symbolic; with --verify, write --dim NAME=N", kDims, "write --batch N"},
    {"random randominput randominputs randomdata generaterandom", nullptr, "write --random-inputs", nullptr},
    {"seed", nullptr, "write --random-inputs=SEED", nullptr},
    {"valrange inputrange", nullptr, "made-up inputs have a range of their own; give others with --inputs FILE.npz",
     nullptr},
    {"loadinputs inputfile inputdatapath testdata x image", "write --verify=FILE.npz",
     "write --inputs FILE.npz, or --input NAME=FILE", "write --data NAME=FILE, once for each"},
    {"saveoutputs saveresults exportoutput dumpoutput outputfiles", nullptr, "write --outputs FILE.npz", nullptr},
    {"outputdirectory outdir outputfolder", "write -o OUT.onnx", "write --output-dir DIR", nullptr},
    {"repeat runs numruns times avgruns numiterations iters niter count", nullptr, "write --bench --iterations N",
     nullptr},
    {"duration", nullptr, "write --bench --iterations N", nullptr},
    {"warmups warmupruns warmupiterations", nullptr, "write --warmup N", nullptr},
    {"benchmark time timing perf latency", "write amp-run MODEL --compare OUT.onnx --bench", "write --bench", nullptr},
    {"profile enableprofiling profiling dumpprofile exportprofile separateprofilerun exporttimes profilefile trace",
     nullptr, "write --profile FILE.json", "write -v; amp-run --profile FILE.json times a step"},
    {"reference ref golden expected against diff onnxrt onnxruntime loadoutputs", "write --verify=FILE.npz",
     "write --compare OTHER.onnx", nullptr},
    {"usecudagraph cudagraph", nullptr, "no flag is needed on a GPU: --no-replay switches that off",
     "no flag is needed on a GPU: --no-replay switches that off"},
    {"nodatatransfers", nullptr, "no such measurement here: --bench times whole runs", nullptr},
    {"threads threadcount numthreads nthreads nthread intraopnumthreads interopnumthreads workers numworkers jobs j "
     "cores",
     "no flag is needed: runs take the threads that the process may use", "write --threads N", "write --threads N"},
    {"listdevices showdevices", "write amp-run --devices", "write --devices", "write amp-run --devices"},

    {"lr learningrate alpha eta", "write --learning-rate X", nullptr, "write --learning-rate X"},
    {"wd l2", "write --weight-decay X", nullptr, kStepHasIt},
    {"epoch epochs numepochs nepochs numtrainepochs maxepochs", "write amp-train STEP --epochs N", nullptr,
     "write --epochs N"},
    {"stepsperepoch maxsteps", nullptr, nullptr, "an epoch is all of the data: write --epochs N"},
    {"initialepoch startepoch", nullptr, nullptr, "write --resume FILE, which knows how far it was"},
    {"validationdata valdata evaldataset testdata testset xval evalset valid", nullptr, nullptr,
     "write --eval-data NAME=FILE, once for each"},
    {"validationsplit valsplit testsplit", nullptr, nullptr, "write --validation-split X"},
    {"traindata trainingdata traindataset dataset datadir datapath train y features", nullptr, nullptr,
     "write --data NAME=FILE, once for each"},
    {"labels label targets", nullptr, "write --evaluate NAME=FILE with the name of the labels, as labels=y.npy",
     nullptr},
    {"labels target targets label", nullptr, nullptr,
     "write --data NAME=FILE with the name of the labels, as labels=y.npy"},
    {"optimizer optim opt optimiser", "write --train --optimizer NAME",
     "amp-train trains, with the optimizer of the step", kStepHasIt},
    {"loss lossfn lossfunction criterion", "write --train --loss NAME",
     "amp-run --compare measures errors; amp-train has the loss of its step", kStepHasIt},
    {"metrics metric accuracy", nullptr, nullptr, "no flag is needed: accuracy is printed where labels are classes"},
    {"gradaccumulation gradientaccumulation gradientaccumulationsteps gradaccum accumulationsteps",
     "write --accumulate N", nullptr, "amp-rewrite --train --accumulate N makes such a step"},
    {"clipnorm clipgrad gradclip clipgradnorm gradclipnorm maxgradnorm globalclipnorm gradientclipping",
     "write --clip-norm X", nullptr, "amp-rewrite --train --clip-norm X makes such a step"},
    {"lrscheduler scheduler lrschedule lrschedulertype", nullptr, nullptr, "write --schedule constant|linear|cosine"},
    {"earlystopping earlystop earlystoppingpatience", "write amp-train STEP --patience N", nullptr,
     "write --patience N, with --validation-split X or --eval-data NAME=FILE"},
    {"savebestonly savebestmodel restorebestweights loadbestmodelatend", "write amp-train STEP --save-best OUT.onnx",
     nullptr, "write --save-best OUT.onnx, which keeps the model with the least test loss"},
    {"monitor metricforbestmodel", nullptr, nullptr,
     "no flag is needed: --patience and --save-best go by the test loss"},
    {"dropremainder", nullptr, nullptr, "write --drop-last"},
    {"ckpt checkpointdir checkpointpath checkpointfile saveckpt savedir outputdirectory modeldir", nullptr, nullptr,
     "write --checkpoint FILE, and --save-weights OUT.onnx"},
    {"saveevery saveinterval savesteps savefreq", nullptr, nullptr, "write --checkpoint FILE --checkpoint-every N"},
    {"restore loadcheckpoint continue resumefrom resumefromcheckpoint", nullptr, nullptr, "write --resume FILE"},
    {"logdir csvlog csvlogger logfile tensorboard history", nullptr, nullptr, "write --log FILE.csv"},
    {"lossscale gradscaler dynamiclossscale", nullptr, nullptr, kStepHasIt},
    {"accuracythreshold maxaccuracydrop accuracydrop targetaccuracy droptype evalcommand evalscript evalfunc evalfn "
     "metricfn metricfunction",
     "write --search --metric-command COMMAND --max-drop X", nullptr, nullptr},
    {"trials maxtrials maxruns budget numtrials", "write --budget-runs N with --search", nullptr, nullptr},
    {"timeout", "write --metric-timeout N with --metric-command", nullptr, nullptr},
    {"silent", "write -q", "write -q", "write -q"},
    {"info list", "write --explain --dry-run", "write --explain", nullptr},
};

// Flags that are in no table of the library, "|" around each. mistakes_test fails if one is missing.
struct OwnFlags {
  const char* program;
  const char* flags;
};
constexpr OwnFlags kOwnFlags[] = {
    {"amp-rewrite and amp-run", "|dim|explain|strict|tolerance|"},
    {"amp-run and amp-train", "|allow-tf32|autotune|device|no-replay|threads|"},
    {"amp-run",
     "|allow-bf16-compute|bench|cast-inputs|compare|devices|evaluate|flush-subnormals|input|inputs|iterations|json|max-"
     "loop-iterations|no-fuse|output-dir|outputs|random-inputs|ulps|warmup|"},
    {"amp-train",
     "|allow-nan|batch|check-replicas|checkpoint|checkpoint-every|curve|data|drop-last|epochs|eval-data|forward|log|"
     "patience|rank-timeout|resize|resume|save-best|save-weights|scale|schedule|shuffle|terminate-on-nan|"
     "validation-split|"},
    {"amp-rewrite", "|completion|list-profiles|output|print-lists|"},
};

// Values of other tools, and what to write for them.
struct ForeignValue {
  const char* flag;
  const char* values;  // in lower case without "-" and "_"
  const char* write;
};
constexpr ForeignValue kForeignValues[] = {
    {"--dtype", "float32 fp32 float single", "write --policy float32, which takes a rewrite back"},
    {"--dtype", "mixedfloat16 mixedfp16 mixed", "write --policy mixed_float16"},
    {"--dtype", "mixedbfloat16 mixedbf16", "write --policy mixed_bfloat16"},
    {"--dtype", "int8 uint8 int4 fp8 float8", "quantisation is no part of this program"},
    {"--policy", "mixedfp16 fp16 half",
     "write mixed_float16, or float16, which makes weights, inputs and outputs low too"},
    {"--policy", "mixedbf16 bf16",
     "write mixed_bfloat16, or bfloat16, which makes weights, inputs and outputs low too"},
    {"--policy", "fp32", "write float32"},
    {"--target", "gpu nvidia", "write cuda:CC with the GPU's compute capability, as cuda:8.0 of an A100, or auto"},
    {"--target", "a100 ampere", "write cuda:8.0"},
    {"--target", "h100 h200 hopper", "write cuda:9.0"},
    {"--target", "t4 turing", "write cuda:7.5"},
    {"--target", "v100 volta", "write cuda:7.0"},
    {"--target", "onnxruntime ort cpuexecutionprovider", "write cpu:avx512 or the like, or auto"},
    {"--target", "tensorrt trt cudaexecutionprovider tensorrtexecutionprovider",
     "write cuda:CC with the GPU's compute capability, as cuda:8.0 of an A100, or auto"},
    {"--device", "gpu nvidia cudaexecutionprovider tensorrt trt", "write cuda"},
    {"--device", "cuda0 gpu0 gpu:0", "write cuda:0"},
    {"--device", "cpu cpuexecutionprovider", "write cpu"},
    {"--device", "cuda", "write cuda"},
    {"--loss", "mae l1 meanabsoluteerror huber hinge kldivergence poisson",
     "there is no such loss; write it into the model, and --loss graph:NAME"},
    {"--loss", "meansquarederror l2 mseloss", "write mse"},
    {"--loss", "sparsecategoricalcrossentropy crossentropy crossentropyloss ce softmaxcrossentropy softmax xent",
     "write softmax-cross-entropy"},
    {"--loss", "categoricalcrossentropy",
     "write softmax-cross-entropy; for one-hot labels, --labels labels:onehot with it"},
    {"--loss", "binarycrossentropy bce bcewithlogits",
     "there is no such loss; write it into the model, and --loss graph:NAME, or give the model two classes"},
    {"--optimizer", "nadam adagrad adadelta adamax lion lamb lars ftrl adafactor muon radam",
     "there is no such optimizer; adam and adamw come closest"},
    {"--labels", "onehot categorical", "write NAME:onehot, as labels:onehot"},
    {"--labels", "sparse int int64", "write NAME:sparse, as labels:sparse"},
    {"--guards", "true yes on 1", "write all"},
    {"--guards", "false no off 0", "write none"},
    {"--weights", "float16 fp16 bfloat16 bf16 low", "write convert"},
    {"--weights", "float32 fp32 keep", "write cast"},
    {"--functions", "none false", "write keep"},
    {"--shuffle", "true yes on", "write a seed, as --shuffle 1"},
    {"--shuffle", "false no off", "leave the flag out"},
    {"--scale", "1/255 1/255.0 1.0/255", "write 0.00392157; without the flag, uint8 is multiplied by it"},
    {"--loss-scale", "auto true yes on", "write dynamic"},
    {"--loss-scale", "false no off", "write none"},
    {"--level", "0 1 2 o0 o1 o2 o3", "levels have names; without the flag, all that is safe and fast becomes low"},
    {"--opset", "latest newest max", "write a version; auto, the default, raises it where the low type needs it"},
    {"--external-data", "true yes on 1", "write always"},
    {"--external-data", "false no off 0", "write never"},
    {"--follow", "true yes 1", "write on"},
    {"--follow", "false no 0", "write off"},
    {"--schedule", "none", "write constant"},
    {"--schedule", "cosineannealing cosinedecay", "write cosine"},
    {"--resize", "linear cubic bicubic", "write bilinear"},
    {"--metric", "snr db", "write --metric sqnr --max-error N, the least ratio in dB"},
    {"--metric", "l2 relativel2 mse rmse", "write rel-l2"},
    {"--metric", "accuracy acc f1 map bleu wer", "write --metric-command COMMAND --max-drop X"},
    {"--metric", "kldiv kldivergence", "write kl"},
    {"--metric", "maxabs linf max", "write max-abs"},
};

std::string Normal(absl::string_view word) {
  std::string normal;
  for (const char c : word) {
    if (c != '-' && c != '_' && c != ' ') normal += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return normal;
}

bool HasWord(absl::string_view words, absl::string_view word) {
  for (const absl::string_view each : absl::StrSplit(words, ' ')) {
    if (each == word) return true;
  }
  return false;
}

const char* TextFor(const ForeignFlag& row, absl::string_view program) {
  if (program == "amp-rewrite") return row.rewrite;
  if (program == "amp-run") return row.run;
  return program == "amp-train" ? row.train : nullptr;
}

// "amp-rewrite", of whom `flag` is; "" where it is nobody's, or this program's.
std::string OwnerOf(absl::string_view program, absl::string_view flag) {
  const std::string word = absl::AsciiStrToLower(flag.substr(flag.find_first_not_of('-')));
  for (const OwnFlags& own : kOwnFlags) {
    const bool is_other = !absl::StrContains(own.program, program);
    if (is_other && absl::StrContains(own.flags, absl::StrCat("|", word, "|"))) return own.program;
  }
  if (program == "amp-rewrite") return "";
  const std::string name = absl::StrCat("--", word);
  if (IsRewriteFlag(name)) return "amp-rewrite";
  return IsTrainFlag(name) ? "amp-rewrite --train" : "";
}

}  // namespace

std::string HintForFlag(absl::string_view program, absl::string_view flag) {
  const std::string word = Normal(flag);
  if (word.empty()) return "";
  for (const ForeignFlag& row : kForeignFlags) {
    const char* const text = TextFor(row, program);
    if (text != nullptr && HasWord(row.names, word)) return absl::StrCat("; ", text);
  }
  const std::string owner = OwnerOf(program, flag);
  return owner.empty() ? "" : absl::StrCat("; it is a flag of ", owner);
}

std::string HintForValue(absl::string_view flag, absl::string_view value) {
  const std::string word = Normal(value);
  const bool is_count = !word.empty() && absl::c_all_of(word, absl::ascii_isdigit);
  if (is_count && flag == "--bench") return absl::StrCat("; write --bench --iterations ", word);
  for (const ForeignValue& row : kForeignValues) {
    if (!word.empty() && row.flag == flag && HasWord(row.values, word)) return absl::StrCat("; ", row.write);
  }
  return "";
}

}  // namespace amp
