#include "tests/mutate_message.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"

namespace amp {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kLargestPayload = 4096;  // elements or bytes: what is longer says nothing new

struct Place {
  Message* message = nullptr;
  const FieldDescriptor* field = nullptr;
  const Reflection& reflection() const { return *message->GetReflection(); }
  int size() const { return field->is_repeated() ? reflection().FieldSize(*message, field) : 1; }
};

class Mutation {
 public:
  Mutation(onnx::ModelProto& model, std::mt19937_64& random) : model_(model), random_(random) { Collect(&model_); }

  std::string Apply() {
    while (true) {
      const auto& kind = Pick(kinds_);
      Message* message = Pick(messages_[kind]);
      if (message->GetDescriptor()->field_count() == 0) continue;
      const Place place{message, PickField(*message)};
      const std::string edit = place.field->is_repeated() ? EditList(place) : EditOne(place);
      if (!edit.empty()) return absl::StrCat(kind, ".", place.field->name(), ": ", edit);
    }
  }

 private:
  size_t Below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  template <typename T>
  T& Pick(std::vector<T>& from) {
    return from[Below(from.size())];
  }
  int Index(int size) { return static_cast<int>(Below(static_cast<size_t>(size))); }

  void Collect(Message* message) {
    const std::string kind(message->GetDescriptor()->name());
    if (messages_[kind].empty()) kinds_.push_back(kind);
    messages_[kind].push_back(message);
    std::vector<const FieldDescriptor*> fields;
    message->GetReflection()->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) CollectField({message, field});
  }

  void CollectField(const Place& place) {
    const Reflection& reflection = place.reflection();
    if (place.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      for (int i = 0; i < std::min(place.size(), kLargestPayload); ++i) {
        std::string text = place.field->is_repeated() ? reflection.GetRepeatedString(*place.message, place.field, i)
                                                      : reflection.GetString(*place.message, place.field);
        if (text.size() <= 256) strings_[NamesOf(place.field)].push_back(std::move(text));
      }
    }
    if (place.field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return;
    for (int i = 0; i < place.size(); ++i) {
      Collect(place.field->is_repeated() ? reflection.MutableRepeatedMessage(place.message, place.field, i)
                                         : reflection.MutableMessage(place.message, place.field));
    }
  }

  // Names of values are one kind of names, wherever they stand.
  static std::string NamesOf(const FieldDescriptor* field) {
    const auto& name = field->name();
    const auto& owner = field->containing_type()->name();
    const bool is_value = name == "input" || name == "output" ||
                          (name == "name" && (owner == "ValueInfoProto" || owner == "TensorProto"));
    return is_value ? "value" : absl::StrCat(owner, ".", name);
  }

  // Mostly one that is set; sometimes one that is not.
  const FieldDescriptor* PickField(const Message& message) {
    std::vector<const FieldDescriptor*> set;
    message.GetReflection()->ListFields(message, &set);
    if (!set.empty() && Below(5) != 0) return Pick(set);
    return message.GetDescriptor()->field(Index(message.GetDescriptor()->field_count()));
  }

  std::string EditList(const Place& place) {
    const Reflection& reflection = place.reflection();
    const int size = place.size();
    if (size > kLargestPayload) return "";
    switch (size == 0 ? 3 : Below(6)) {
      case 0:
        reflection.SwapElements(place.message, place.field, Index(size), size - 1);
        reflection.RemoveLast(place.message, place.field);
        return "dropped one";
      case 1:
        reflection.SwapElements(place.message, place.field, Index(size), Index(size));
        return "swapped two";
      case 2:
      case 3:
        return AddOne(place);
      case 4:
        reflection.ClearField(place.message, place.field);
        return "dropped all";
      default:
        return SetElement(place, Index(size));
    }
  }

  // A copy of one of its kind, of this list or another.
  std::string AddOne(const Place& place) {
    const Reflection& reflection = place.reflection();
    switch (place.field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        const auto found = messages_.find(std::string(place.field->message_type()->name()));
        if (found == messages_.end()) return "";
        const std::unique_ptr<Message> copy = CopyOf(*Pick(found->second));
        reflection.AddMessage(place.message, place.field)->CopyFrom(*copy);
        return "added a copy";
      }
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.AddString(place.message, place.field, SomeString(place.field, ""));
        return "added a name";
      case FieldDescriptor::CPPTYPE_INT64:
        reflection.AddInt64(place.message, place.field, SomeInteger());
        return "added a number";
      case FieldDescriptor::CPPTYPE_INT32:
        reflection.AddInt32(place.message, place.field, static_cast<int32_t>(SomeInteger()));
        return "added a number";
      case FieldDescriptor::CPPTYPE_FLOAT:
        reflection.AddFloat(place.message, place.field, SomeFloat());
        return "added a number";
      default:
        return "";
    }
  }

  std::string SetElement(const Place& place, int at) {
    const Reflection& reflection = place.reflection();
    switch (place.field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.SetRepeatedString(
            place.message, place.field, at,
            SomeString(place.field, reflection.GetRepeatedString(*place.message, place.field, at)));
        return "retargeted";
      case FieldDescriptor::CPPTYPE_INT64:
        reflection.SetRepeatedInt64(place.message, place.field, at, SomeInteger());
        return "another number";
      case FieldDescriptor::CPPTYPE_FLOAT:
        reflection.SetRepeatedFloat(place.message, place.field, at, SomeFloat());
        return "another number";
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Replace(place, [&] { return reflection.MutableRepeatedMessage(place.message, place.field, at); });
      default:
        return "";
    }
  }

  std::string EditOne(const Place& place) {
    const Reflection& reflection = place.reflection();
    if (Below(5) == 0) {
      reflection.ClearField(place.message, place.field);
      return "cleared";
    }
    switch (place.field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.SetString(place.message, place.field,
                             SomeString(place.field, reflection.GetString(*place.message, place.field)));
        return "retargeted";
      case FieldDescriptor::CPPTYPE_INT64:
        reflection.SetInt64(place.message, place.field, SomeInteger());
        return "another number";
      case FieldDescriptor::CPPTYPE_INT32:
        reflection.SetInt32(place.message, place.field, static_cast<int32_t>(SomeInteger()));
        return "another number";
      case FieldDescriptor::CPPTYPE_FLOAT:
        reflection.SetFloat(place.message, place.field, SomeFloat());
        return "another number";
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* values = place.field->enum_type();
        reflection.SetEnum(place.message, place.field, values->value(Index(values->value_count())));
        return "retyped";
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Replace(place, [&] { return reflection.MutableMessage(place.message, place.field); });
      default:
        return "";
    }
  }

  // By a copy that is made first: what is replaced, or freed for it, may hold the other.
  template <typename Target>
  std::string Replace(const Place& place, Target target) {
    const auto found = messages_.find(std::string(place.field->message_type()->name()));
    if (found == messages_.end()) return "";
    const std::unique_ptr<Message> copy = CopyOf(*Pick(found->second));
    target()->CopyFrom(*copy);
    return "replaced by another";
  }

  static std::unique_ptr<Message> CopyOf(const Message& message) {
    std::unique_ptr<Message> copy(message.New());
    copy->CopyFrom(message);
    return copy;
  }

  std::string SomeString(const FieldDescriptor* field, std::string now) {
    auto& known = strings_[NamesOf(field)];
    switch (Below(8)) {
      case 0:
        return "";
      case 1:
        return absl::StrCat(now, "_other");
      case 2:
        if (now.empty()) return "x";
        now[Below(now.size())] = static_cast<char>(' ' + Below(95));
        return now;
      case 3:
        return now.substr(0, now.empty() ? 0 : Below(now.size()));
      default:
        return known.empty() ? now : Pick(known);
    }
  }

  int64_t SomeInteger() {
    static constexpr int64_t kNumbers[] = {0,
                                           1,
                                           2,
                                           3,
                                           4,
                                           5,
                                           7,
                                           8,
                                           9,
                                           10,
                                           11,
                                           12,
                                           13,
                                           16,
                                           17,
                                           21,
                                           22,
                                           -1,
                                           -2,
                                           int64_t{1} << 31,
                                           int64_t{1} << 62,
                                           std::numeric_limits<int64_t>::max(),
                                           std::numeric_limits<int64_t>::min()};
    return kNumbers[Below(std::size(kNumbers))];
  }

  float SomeFloat() {
    static constexpr float kNumbers[] = {0,
                                         0.5f,
                                         1,
                                         2,
                                         -1,
                                         1e-9f,
                                         65520,
                                         3e38f,
                                         -3e38f,
                                         std::numeric_limits<float>::infinity(),
                                         std::numeric_limits<float>::quiet_NaN()};
    return kNumbers[Below(std::size(kNumbers))];
  }

  onnx::ModelProto& model_;
  std::mt19937_64& random_;
  std::vector<std::string> kinds_;  // in the order in which they are met
  std::map<std::string, std::vector<Message*>> messages_;
  std::map<std::string, std::vector<std::string>> strings_;
};

}  // namespace

std::string MutateOnce(onnx::ModelProto& model, std::mt19937_64& random) { return Mutation(model, random).Apply(); }

}  // namespace amp
